# vlane. `make` lists what there is; every target sets up .venv first, once.
SHELL := /bin/sh
READY := .venv/.ready
PYTHON := .venv/bin/python
VLANE := .venv/bin/vlane
PYTEST := .venv/bin/pytest -n 2 --dist worksteal
FABRIC ?= tests/data/irregular_s1
CYCLES ?= 2000000
BLOCK ?= vlarb
POINTS ?= 50
EACH = $(if $(and $(filter %_switch,$(BLOCK)),$(filter file,$(origin CYCLES))),40000,$(CYCLES))
RECORDS ?= docs/evidence/soak.jsonl
SOAK = $(VLANE) soak --record $(RECORDS)
LINE_RATE ?= $(shell $(PYTHON) -c 'from vlane.schedulers.registry import SCHEDULERS; print(*[each.name for each in SCHEDULERS.values() if each.has_line_rate])')
LONG ?= $(LINE_RATE) credit_ib credit_opa
SEED := $(or $(SEED),$(shell date +%Y%m%d))
SWITCH := $(addprefix --param ,ports=8 data_vls=8 blocks=128 minimum=8 maximum=72 largest=8 scheduler=vlarb entries=8 lids=42 data_bits=128)
BLOCKS ?= $(shell $(PYTHON) -c 'from vlane.sim_top.blocks import BLOCKS; print(*BLOCKS)')
NETLISTS ?= $(shell $(PYTHON) -c 'from vlane.sim_top.blocks import SYNTHESISED; print(*SYNTHESISED)')

SMALL_IB := $(addprefix --param ,ports=3 data_vls=3 blocks=12 minimum=2 maximum=8 largest=2 lids=7)
SMALL_OPA := $(addprefix --param ,ports=5 data_vls=2 blocks=10 minimum=2 maximum=8 largest=2 lids=8)
CARRIED := irregular_rtl irregular_opa_rtl irregular_fcp_rtl irregular_per_vl_rtl

# Bytecode is kept out of the source folders, and kept: each process would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache

.DEFAULT_GOAL := help
.PHONY: help env cosim cocotb tools test long live-conf budget check formal opinions stuck plants mutate python-mutants coverage soak evidence nightly bench elastic area netlist verilog fabric page page-tests docs linkcheck pages pins clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(READY)  ## .venv with everything, pinned; quiet when up to date
$(READY): pyproject.toml requirements.txt sim_top/setup.sh
	@sh sim_top/setup.sh

cosim: $(READY)  ## main job: a fabric's tables through the arbiter, the switch, and the network with a switch in hardware
	@$(VLANE) cosim vlarb --fabric $(FABRIC) --cycles $(CYCLES) --waves build/cosim/vlarb.vcd --page build/cosim
	@$(VLANE) cosim ib_switch --cycles 200000 $(SWITCH)
	@$(VLANE) cosim network sim_top/configs/fabric_rtl.toml --rtl 3

cocotb: $(READY)  ## switches under cocotb: 20,000 cycles of every phase, and networks with two of them in hardware
	@$(VLANE) cosim ib_switch --engine cocotb --cycles 180000 $(SMALL_IB)
	@$(VLANE) cosim opa_switch --engine cocotb --cycles 180000 $(SMALL_OPA)
	@for study in $(CARRIED); do $(VLANE) cosim network sim_top/configs/$$study.toml --rtl 0,1 --engine cocotb || exit 1; done

tools: $(READY)  ## compile yosys and the solver for this machine: once, 70 s of processor time; the first tests do it otherwise
	@$(PYTHON) -m vlane.tb.machinery.native.warm

test: $(READY)  ## all tests but the long ones
	@$(PYTEST) -m "not long"

long: $(READY)  ## more instances of what the tests show: whole switches, full sizes
	@$(PYTEST) -m long

live-conf: $(READY)  ## random options through an installed OpenSM on a simulated fabric, against vlane's reading
	@$(PYTEST) -n 0 -rs tests/fabric/test_opensm_live.py

budget: $(READY)  ## commit the processor time of each test file, of the last make test, to tests/cpu_budget.json
	@$(PYTHON) -m tests.cpu_budget update

check: $(READY)  ## lint, types, fast tests
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@$(PYTEST) -m "not slow and not long"

formal: $(READY)  ## proofs of every block (BLOCKS=one or more), small and full size; no verdict comes from the cache
	@for block in $(BLOCKS); do $(VLANE) prove $$block --fresh || exit 1; done

opinions: $(READY)  ## the proofs of each block (BLOCKS=) once more, with Z3 instead of Boolector: hours
	@for block in $(BLOCKS); do $(VLANE) prove $$block --solver z3 --no-covers || exit 1; done

stuck: $(READY)  ## each register and output of each block (BLOCKS=) held at 0 and at 1, and which proof notices: hours
	@for block in $(BLOCKS); do $(VLANE) prove $$block --stuck --minutes 10 || exit 1; done

plants: $(READY)  ## bugs of one line in each block (BLOCKS=), and what notices them: proof, lockstep
	@$(VLANE) plants $(BLOCKS)

mutate: $(READY)  ## mutants of BLOCK through the lockstep; survivors by line
	@$(VLANE) mutate $(BLOCK)

python-mutants: $(READY)  ## 400 mutants of golden's network, studies, fabric and planning against their tests; resumes
	@$(PYTHON) -m tests.mutants --reach
	@$(PYTHON) -m tests.mutants --by-hand --record
	@$(PYTHON) -m tests.mutants --record

coverage: $(READY)  ## lines, branches and toggles of each block (BLOCKS=) that the lockstep reaches; holes without a reason
	@for block in $(BLOCKS); do $(VLANE) coverage $$block || exit 1; done

soak: $(READY)  ## POINTS=50 random instances of BLOCK in lockstep (CYCLES= of each)
	@$(VLANE) soak $(BLOCK) --points $(POINTS) --cycles $(EACH)

evidence: $(READY)  ## a billion compared cycles of arbiters and credits, switches at random; goes on from what is on record
	@for block in $(LONG); do $(SOAK) $$block --points 9 --cycles 100000000 && \
	  $(SOAK) $$block --points 1 --cycles 100000000 --full-size --seed 2 || exit 1; done
	@for block in $(LINE_RATE); do $(SOAK) $$block --points 9 --cycles 100000000 --param form=line_rate && \
	  $(SOAK) $$block --points 1 --cycles 100000000 --param form=line_rate --full-size --seed 2 || exit 1; done
	@for block in ib_switch opa_switch; do $(SOAK) $$block --points 40 --cycles 2500000 && \
	  $(SOAK) $$block --points 1 --cycles 2500000 --full-size --seed 2 || exit 1; done
	@$(VLANE) evidence $(RECORDS)

nightly: $(READY)  ## four random instances of every block, and mutants of Python modules, with a seed that is printed
	@echo "seed $(SEED)"; for block in $(BLOCKS); do $(VLANE) soak $$block --points 4 --cycles 200000 --seed $(SEED) || exit 1; done
	@$(PYTHON) -m tests.mutants --reach
	@$(PYTHON) -m tests.mutants --seed $(SEED) --first 20

elastic: $(READY)  ## elastic comparison: plants, ten seeds, slack of windows (see docs/elastic.md)
	@$(PYTHON) -m pytest -q -m "slow or long" tests/lockstep/test_elastic.py
	@$(PYTHON) bench/slack.py

bench: $(READY)  ## speeds, as JSON
	@$(PYTHON) bench/lockstep.py
	@$(PYTHON) bench/network.py
	@$(PYTHON) bench/mixed.py
	@$(PYTHON) bench/fabric.py
	@$(PYTHON) bench/compiler.py
	@$(PYTHON) bench/startup.py
	@$(PYTHON) bench/voqsw.py
	@$(PYTHON) bench/ethernet.py

area: $(READY)  ## area and speed of every block on ECP5
	@$(VLANE) area

netlist: $(READY)  ## blocks after synthesis, to gates and to cells of ECP5, in lockstep (NETLISTS=)
	@for target in generic ecp5; do for block in $(NETLISTS); do \
	  $(VLANE) cosim $$block --netlist $$target --cycles 100000 || exit 1; done; done

verilog: $(READY)  ## Verilog, port tables, cores and testbenches of the catalogue, under build/verilog
	@for block in $(BLOCKS); do $(VLANE) export $$block --out build/verilog --testbench 2000 --force || exit 1; done

fabric: $(READY)  ## what a captured fabric holds, and its check (FABRIC=)
	@$(VLANE) fabric show $(FABRIC)
	@$(VLANE) fabric check $(FABRIC)

page: $(READY)  ## arbiter.html, the page about arbitration tables, into build/page
	@$(PYTHON) -m vlane.sim_top.browser build/page

page-tests: page  ## that page in Chromium: numbers, keyboard, axe-core (npm); results in docs/evidence/arbiter_page.json
	@$(PYTHON) docs/_ext/check_arbiter.py

docs: $(READY) page  ## the documentation site, its tutorials run, into build/docs; no warnings, internal links checked
	@$(PYTHON) -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

linkcheck: $(READY)  ## links of the site to other sites; needs a network
	@$(PYTHON) -m sphinx -q -W --keep-going -b linkcheck -D run_examples=0 docs build/linkcheck

pages: $(READY)  ## site (make docs first) and reports in a real browser: no errors, screenshots in build/pages (CHROMIUM=)
	@test -f build/docs/index.html || $(MAKE) --no-print-directory docs
	@$(PYTHON) docs/_ext/open_pages.py

pins: $(READY)  ## requirements.txt anew from pyproject.toml, with hashes (UPGRADE=--upgrade: the newest versions)
	@$(PYTHON) -m venv build/pins && build/pins/bin/python -m pip install --quiet uv
	@build/pins/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --extra dev $(UPGRADE) pyproject.toml --output-file requirements.txt
	@printf '%s\n' '# Every version pinned, with the hashes of its files; made from pyproject.toml by: make pins' \
	  | cat - requirements.txt > build/pins/pinned && mv build/pins/pinned requirements.txt

clean:  ## remove everything generated here, .venv too; what is compiled stays in the user's cache
	rm -rf .venv build .cache *.egg-info
