"use strict";
// What vlane's pages do: tables that sort, words at marks and links, curves and loads that are chosen. docs/pages.md
(() => {
  const each = (root, selector, act) => root.querySelectorAll(selector).forEach(act);

  // Tables: the button of a heading sorts by its column; numbers by value, cells without one last.
  const orderOf = (cell) => {
    const text = cell.dataset.v ?? cell.textContent.trim();
    const number = Number(text.replace(/[,%\s]/g, ""));
    return text === "" ? null : Number.isNaN(number) ? text : number;
  };
  const compare = (one, other) =>
    typeof one === "number" && typeof other === "number" ? one - other
      : String(one).localeCompare(String(other), "en", { numeric: true });
  const sortBy = (heading, place) => {
    const table = heading.closest("table"), body = table.tBodies[0];
    const down = heading.getAttribute("aria-sort") === "ascending";
    each(table, "th[aria-sort]", (other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = Array.from(body.rows, (row, at) => ({ row, at, order: orderOf(row.cells[place]) }));
    rows.sort((one, other) => {
      if (one.order === null || other.order === null) return (one.order === null) - (other.order === null) || one.at - other.at;
      return (down ? -1 : 1) * compare(one.order, other.order) || one.at - other.at;
    });
    body.append(...rows.map((item) => item.row));
  };
  each(document, "table", (table) => {
    Array.from(table.tHead.rows[0].cells).forEach((heading, place) => {
      heading.querySelector("button").addEventListener("click", () => sortBy(heading, place));
    });
  });

  // Words: what an element with data-t says stands in its figure's data.
  const tip = document.getElementById("tip");
  const place = (event) => {
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 4);
    const below = event.clientY + 16, fits = below + box.height < innerHeight;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${fits ? below : Math.max(4, event.clientY - box.height - 12)}px`;
  };
  const dataOf = new Map();
  each(document, "figure", (figure) => {
    const held = figure.querySelector("script[type='application/json']");
    if (held) dataOf.set(figure, JSON.parse(held.textContent));
  });
  const wordsOf = (element) => {
    const data = dataOf.get(element.closest("figure"));
    const number = Number(element.dataset.t);
    if (!data) return "";
    return element.classList.contains("k") ? linkWords(data, number) : data.tips[number];
  };
  const show = (event) => {
    const element = event.target instanceof Element ? event.target.closest("[data-t]") : null;
    tip.hidden = !element;
    if (!element) return;
    tip.textContent = wordsOf(element);
    place(event);
  };
  document.addEventListener("pointerover", show);
  document.addEventListener("pointermove", (event) => tip.hidden || place(event));
  document.addEventListener("click", show);

  // Curves: a button of the legend hides and shows its curves in every panel.
  each(document, ".legend button", (button) => {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(shown));
      each(button.closest("figure"), `[data-g="${button.dataset.of}"]`, (curve) => curve.classList.toggle("off", !shown));
    });
  });

  // Networks: links have the colour of the values that are chosen.
  const chosen = (data) => data.chosen ?? 0;
  const linkWords = (data, number) => {
    const value = data.values[chosen(data)][number];
    const said = value === null ? data.nothing : data.unit.replace("{}", (value * data.factor).toLocaleString("en", { maximumFractionDigits: 2 }));
    const more = value === null || !data.second ? "" : `, ${data.second.replace("{}", (value * data.second_factor).toLocaleString("en", { maximumFractionDigits: 2 }))}`;
    const [from, to, count] = data.links[number];
    return `${data.ends[from]} to ${data.ends[to]}${count > 1 ? ` (${count} links, the busiest)` : ""}\n${said}${more}`;
  };
  const step = (data, value) => value === null ? "n" : Math.min(9, Math.max(0, Math.floor(10 * value / data.most)));
  each(document, "figure.network", (figure) => {
    const data = dataOf.get(figure), choice = figure.querySelector("select");
    if (!data || !choice) return;
    choice.addEventListener("change", () => {
      data.chosen = Number(choice.value);
      each(figure, ".k", (link) => {
        link.setAttribute("class", `k q${step(data, data.values[data.chosen][Number(link.dataset.t)])}`);
      });
    });
  });
})();
