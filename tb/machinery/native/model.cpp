// A Verilated device behind a small C interface. The marked places are filled in per component.
#include <cstdint>
#include <memory>

#include "@TOP@.h"
#include "verilated.h"
#define TRACED @TRACED@
#define RESET_FIRST @RESET_FIRST@
#define DRIVEN @DRIVEN@
#define SAVABLE @SAVABLE@
#if TRACED
#include "verilated_vcd_c.h"
#endif
#if SAVABLE
#include <algorithm>
#include <cstring>
#include <vector>

#include "verilated_save.h"
#endif

double sc_time_stamp() { return 0; }

namespace {

struct Device {
    std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    std::unique_ptr<@TOP@> top;
#if TRACED
    std::unique_ptr<VerilatedVcdC> wave;
#endif
    uint64_t half_cycles = 0;

    explicit Device(const char* wave_file) {
        (void)wave_file;
#if TRACED
        context->traceEverOn(true);
#endif
        top.reset(new @TOP@{context.get()});
#if TRACED
        if (wave_file) {
            wave.reset(new VerilatedVcdC);
            top->trace(wave.get(), 99);
            wave->open(wave_file);
        }
#endif
        top->clk = 0;
        top->eval();
#if RESET_FIRST
        top->@RESET@ = 1;
        pulse(false, true);
        pulse(true, false);
        top->@RESET@ = 0;
#endif
    }

    ~Device() {
#if TRACED
        if (wave) wave->close();
#endif
        top->final();
    }

    void dump() {
#if TRACED
        if (wave) wave->dump(half_cycles);
#endif
        ++half_cycles;
    }

#if DRIVEN
    bool rises = false;  // whether the clock has yet to rise after the inputs that are loaded

    inline void pulse(bool clk, bool load) {
        top->clk = clk;
        top->load = load;
        top->eval();
        dump();
        top->clk = 0;
        top->load = 0;
        top->eval();
        dump();
    }

    // The clock's edge that ends a cycle comes with the inputs of the next: logic is evaluated once, not after each.
    inline void settle(const uint64_t* in) {
        @SET@
        pulse(rises, true);
        rises = true;
    }

    inline void rise() {
        pulse(true, false);
        rises = false;
    }
#else
    inline void load(const uint64_t* in) {
        @SET@
        top->clk = 0;
        top->eval();
    }

    inline void settle(const uint64_t* in) {
        load(in);
        dump();
    }

    inline void rise() {
        top->clk = 1;
        top->eval();
        dump();
    }
#endif

    inline void read(uint64_t* out) const {
        @GET@
    }
};

#if SAVABLE
// All that a device goes on from, in memory: Verilator's own classes write files.
struct Saved final : VerilatedSerialize {
    std::vector<uint8_t> bytes;

    void flush() override {
        bytes.insert(bytes.end(), m_bufp, m_cp);
        m_cp = m_bufp;
    }
};

struct Restored final : VerilatedDeserialize {
    const uint8_t* from;
    const uint8_t* const end;

    Restored(const uint8_t* begin, uint64_t size) : from{begin}, end{begin + size} { m_endp = m_bufp; }

    // What is not read yet moves to the front; behind the end there are zeros.
    void fill() override {
        const size_t kept = m_endp - m_cp;
        std::memmove(m_bufp, m_cp, kept);
        const size_t more = std::min<size_t>(bufferSize() - kept, end - from);
        std::memcpy(m_bufp + kept, from, more);
        std::memset(m_bufp + kept + more, 0, bufferSize() - kept - more);
        from += more;
        m_cp = m_bufp;
        m_endp = m_bufp + bufferSize();
    }
};
#endif

}  // namespace

extern "C" {

void* vlane_new(const char* wave_file) { return new Device(wave_file); }

void vlane_delete(void* device) { delete static_cast<Device*>(device); }

void vlane_run(void* device, uint64_t cycles, const uint64_t* in, uint64_t* out) {
    auto& d = *static_cast<Device*>(device);
    for (uint64_t cycle = 0; cycle < cycles; ++cycle, in += @INPUT_WORDS@, out += @OUTPUT_WORDS@) {
        d.settle(in);
        d.read(out);
#if !DRIVEN
        d.rise();
#endif
    }
}

// One cycle of a device whose outputs all come from flip-flops; ``out`` is what they are after it.
void vlane_step(void* device, const uint64_t* in, uint64_t* out) {
    auto& d = *static_cast<Device*>(device);
    d.settle(in);
    d.rise();
    d.read(out);
}

#if SAVABLE
// Returns the size of the state, which is the same for all devices; it is written if there is room for it.
uint64_t vlane_save(void* device, uint8_t* to, uint64_t room) {
    auto& d = *static_cast<Device*>(device);
    Saved saved;
    saved << d.rises << *d.top;
    saved.flush();
    if (room >= saved.bytes.size()) std::memcpy(to, saved.bytes.data(), saved.bytes.size());
    return saved.bytes.size();
}

void vlane_restore(void* device, const uint8_t* from, uint64_t size) {
    auto& d = *static_cast<Device*>(device);
    Restored restored{from, size};
    restored >> d.rises >> *d.top;
}
#endif

uint64_t vlane_free_run(void* device, uint64_t cycles, const uint64_t* in) {
    auto& d = *static_cast<Device*>(device);
    for (uint64_t cycle = 0; cycle < cycles; ++cycle, in += @INPUT_WORDS@) {
        d.settle(in);
#if !DRIVEN
        d.rise();
#endif
    }
    uint64_t last[@OUTPUT_WORDS@];
    d.read(last);
    uint64_t sum = 0;
    for (uint64_t word : last) sum = sum * 31 + word;
    return sum;
}
}
