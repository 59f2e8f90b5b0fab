// Closed-loop requesters: a queue per lane, from which the grants of the device remove packets. Appended to model.cpp.
#include <algorithm>
#include <cstring>
#include <vector>

namespace {

struct Requesters {
    enum { MASKED = 1, GAP = 2, BURSTS = 4, WITHDRAW = 8, WILD = 16 };  // as in signals.py
    enum { ZERO, RESET, READY, GATED, LAST, REQUEST = 100, ACKNOWLEDGE = 200, LAST_OF = 300 };
    static constexpr int FULL = 64;  // packets of a queue
    static constexpr int64_t STALLS = 4;
    static constexpr int64_t NEVER = int64_t{1} << 62;

    int64_t lanes, flags, cycles, reset_cycles, stall, resets_from, always_ready;
    bool has_reset, onehot, grant_low, valid_low;
    int64_t valid_place;
    std::vector<int64_t> grant_places, sources;
    uint64_t random, now = 0;
    int64_t phase_end = 0, stalled_from = NEVER, next_reset = 0, reset_end = 0, ready_chance = 100;
    std::vector<int64_t> backlog, beats, quiet, load;

    explicit Requesters(const int64_t* plan) {
        random = static_cast<uint64_t>(*plan++);
        for (int64_t* field : {&lanes, &flags, &cycles, &reset_cycles, &stall, &resets_from, &always_ready})
            *field = *plan++;
        has_reset = *plan++;
        onehot = *plan++;
        grant_low = *plan++;
        valid_low = *plan++;
        valid_place = *plan++;
        for (std::vector<int64_t>* list : {&grant_places, &sources}) {
            list->resize(*plan++);
            for (int64_t& each : *list) each = *plan++;
        }
        for (std::vector<int64_t>* list : {&backlog, &quiet, &load}) list->assign(lanes, 0);
        beats.assign(lanes, 1);
        next_reset = has_reset ? 0 : NEVER;
    }

    uint64_t draw(uint64_t below) {  // splitmix64
        random += 0x9e3779b97f4a7c15ull;
        uint64_t mixed = random;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
        return (mixed ^ mixed >> 31) % below;
    }

    bool chance(int64_t of_a_thousand) { return static_cast<int64_t>(draw(1000)) < of_a_thousand; }

    void begin_phase() {
        const int64_t stalls_from = resets_from - STALLS * stall, at = static_cast<int64_t>(now);
        stalled_from = NEVER;
        if (at >= stalls_from && at < resets_from) return begin_stall();
        static const int64_t loads[] = {0, 20, 100, 300, 600, 1000}, readiness[] = {1000, 1000, 800, 500, 200};
        const uint64_t kind = draw(6), only = draw(lanes);
        phase_end = now + 100 + draw(900);
        if (at < stalls_from) phase_end = std::min(phase_end, stalls_from);
        for (int64_t lane = 0; lane < lanes; ++lane) {
            const int64_t any = loads[draw(6)];
            load[lane] = kind == 0   ? 1000
                         : kind == 1 ? 500 / lanes
                         : kind == 2 ? 1000 * (lane == static_cast<int64_t>(only))
                         : kind == 3 ? 20 / lanes + 1
                                     : any;
            if (kind == 3 && backlog[lane] > 2) backlog[lane] = 2;  // sparse traffic begins at once
        }
        ready_chance = readiness[draw(5)];
    }

    // A stall: queued packets leave, then requests arrive one after the other while nobody is ready.
    void begin_stall() {
        phase_end = now + stall;
        stalled_from = now + 4 * lanes;
        ready_chance = 1000;
        for (int64_t lane = 0; lane < lanes; ++lane) {
            load[lane] = 5000 / stall + 1;
            backlog[lane] = std::min(backlog[lane], int64_t{1});
        }
    }

    // Requests stand across a reset in two of three cases.
    void refill() {
        const uint64_t kind = draw(3);
        for (int64_t lane = 0; lane < lanes; ++lane) {
            backlog[lane] = kind == 0 ? 0 : kind == 1 ? 1 + draw(3) : draw(2);
            beats[lane] = 1;
            quiet[lane] = 0;
        }
    }

    uint64_t grant(const uint64_t* out) const {
        const auto bit = [out](int64_t place) { return out[place >> 6] >> (place & 63) & 1; };
        if (valid_place >= 0 && bit(valid_place) == valid_low) return 0;
        uint64_t code = 0;
        for (size_t at = 0; at < grant_places.size(); ++at) code |= (bit(grant_places[at]) ^ grant_low) << at;
        if (onehot) return code;
        return code < static_cast<uint64_t>(lanes) ? uint64_t{1} << code : 0;
    }

    void put(uint64_t* in, int words, bool reset, bool ready, uint64_t requests, uint64_t acknowledged, uint64_t last,
             uint64_t granted) const {
        std::memset(in, 0, sizeof(uint64_t) * words);
        for (size_t place = 0; place < sources.size(); ++place) {
            const int64_t code = sources[place] >> 1;
            uint64_t bit = 0;
            if (code >= LAST_OF) bit = last >> (code - LAST_OF) & 1;
            else if (code >= ACKNOWLEDGE) bit = acknowledged >> (code - ACKNOWLEDGE) & 1;
            else if (code >= REQUEST) bit = requests >> (code - REQUEST) & 1;
            else if (code == RESET) bit = reset;
            else if (code == READY) bit = ready;
            else if (code == GATED) bit = acknowledged != 0;
            else if (code == LAST) bit = (last & granted) != 0;
            in[place >> 6] |= (bit ^ (sources[place] & 1)) << (place & 63);
        }
    }

    // One cycle: two passes, because acknowledges follow the grant and masked requests follow the acknowledge.
    void cycle(Device& d, uint64_t* in, uint64_t* out) {
        if (static_cast<int64_t>(now) >= phase_end) begin_phase();
        if (static_cast<int64_t>(now) == next_reset) {
            reset_end = now + reset_cycles;
            next_reset = reset_end + 150 + draw(300);
            if (static_cast<int64_t>(next_reset) < resets_from) next_reset = resets_from + draw(300);
            if (now) refill();
        }
        const bool reset = has_reset && static_cast<int64_t>(now) < reset_end;
        const bool stalled = static_cast<int64_t>(now) >= stalled_from;
        const bool ready = (always_ready || chance(ready_chance)) && !reset && !stalled;
        const uint64_t wild = flags & WILD ? draw(uint64_t{1} << lanes) : 0;
        uint64_t wanted = 0, last = 0;
        for (int64_t lane = 0; lane < lanes; ++lane) {
            if (backlog[lane] < FULL && chance(load[lane])) ++backlog[lane];
            if (flags & WITHDRAW && chance(20)) backlog[lane] = 0;
            if (backlog[lane] && !quiet[lane]) wanted |= uint64_t{1} << lane;
            if (beats[lane] <= 1) last |= uint64_t{1} << lane;
            if (quiet[lane]) --quiet[lane];
        }
        put(in, @INPUT_WORDS@, reset, ready, wanted, 0, last, 0);
        d.load(in);
        d.read(out);
        uint64_t granted = grant(out), taken = ready ? granted : 0, shown = wanted;
        if (flags & MASKED)
            for (int64_t lane = 0; lane < lanes; ++lane)
                if (taken >> lane & 1 && backlog[lane] < 2 && beats[lane] <= 1) shown &= ~(uint64_t{1} << lane);
        put(in, @INPUT_WORDS@, reset, ready, shown, taken | (reset ? 0 : wild & ~granted), last, granted);
        d.settle(in);
        d.read(out);
        granted = reset || !ready ? 0 : grant(out);
        for (int64_t lane = 0; lane < lanes; ++lane) {
            if (!(granted >> lane & 1)) continue;
            if (beats[lane] > 1) {
                --beats[lane];
                continue;
            }
            if (wanted >> lane & 1) --backlog[lane];
            if (flags & BURSTS) beats[lane] = 1 + draw(4);
            if (flags & GAP) quiet[lane] = 1;
        }
        d.rise();
        ++now;
    }
};

}  // namespace

extern "C" {

void* vlane_requesters_new(const int64_t* plan) { return new Requesters(plan); }

void vlane_requesters_delete(void* requesters) { delete static_cast<Requesters*>(requesters); }

// Runs cycles and writes the rows of inputs and outputs; returns their number, fewer if the design ends its run.
uint64_t vlane_requesters_run(void* device, void* requesters, uint64_t cycles, uint64_t* in, uint64_t* out) {
    auto& d = *static_cast<Device*>(device);
    auto& r = *static_cast<Requesters*>(requesters);
    for (uint64_t cycle = 0; cycle < cycles; ++cycle, in += @INPUT_WORDS@, out += @OUTPUT_WORDS@) {
        try {
            r.cycle(d, in, out);
        } catch (const std::runtime_error&) {
            return cycle;
        }
    }
    return cycles;
}
}
