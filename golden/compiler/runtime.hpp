// Runtime of translated kernels: arrays, records, Python's integer operators, bit operations.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

#ifndef VLANE_CHECKED
#define VLANE_CHECKED 0
#endif

namespace rt {

// Errors that Python would raise. A kernel stops at once; its caller gets the kind and, in a checked build, the place.
enum class Fault : int32_t { none, division, shift, index, slice, value };

struct Error {
    Fault fault;
    const char *place;
};

[[noreturn, gnu::cold]] inline void raise(Fault fault, const char *place) {
#if __cpp_exceptions
    throw Error{fault, place};
#else
    __builtin_trap();
#endif
}

inline void check_index(int64_t index, int64_t count, const char *place) {
    if (VLANE_CHECKED && uint64_t(index) >= uint64_t(count)) [[unlikely]]
        raise(Fault::index, place);
}

// A contiguous array; the memory belongs to the caller of the kernel.
template <class T, int N> struct Array {
    T *first;
    int64_t shape[N];

    template <class... I> T &operator()(I... index) const { return first[offset("", index...)]; }
    template <class... I> T &at(const char *place, I... index) const { return first[offset(place, index...)]; }

    // The part of an array that all but its last dimensions select.
    template <class... I> Array<T, N - int(sizeof...(I))> part(I... index) const {
        Array<T, N - int(sizeof...(I))> found;
        int64_t at = offset("", index...);
        for (int n = int(sizeof...(I)); n < N; ++n) {
            found.shape[n - int(sizeof...(I))] = shape[n];
            at *= shape[n];
        }
        found.first = first + at;
        return found;
    }

    Array slice(int64_t from, int64_t to) const {
        from = clamped(from), to = clamped(to);
        Array found = *this;
        found.shape[0] = to > from ? to - from : 0;
        int64_t size = 1;
        for (int n = 1; n < N; ++n) size *= shape[n];
        found.first = first + from * size;
        return found;
    }
    Array slice_from(int64_t from) const { return slice(from, shape[0]); }

    int64_t size() const {
        int64_t count = 1;
        for (int n = 0; n < N; ++n) count *= shape[n];
        return count;
    }

    void fill(int64_t value) const {
        const int64_t count = size();
        for (int64_t at = 0; at < count; ++at) first[at] = T(value);
    }
    template <class U> void copy(const Array<U, N> &from) const {
        const int64_t count = size();
        if (count != from.size()) raise(Fault::value, "");
        if constexpr (std::is_same_v<T, U>)
            memmove(first, from.first, size_t(count) * sizeof(T));
        else
            for (int64_t at = 0; at < count; ++at) first[at] = T(from.first[at]);
    }

    bool any() const {
        const int64_t count = size();
        for (int64_t at = 0; at < count; ++at)
            if (first[at]) return true;
        return false;
    }
    bool all() const {
        const int64_t count = size();
        for (int64_t at = 0; at < count; ++at)
            if (!first[at]) return false;
        return true;
    }
    int64_t sum() const {
        int64_t total = 0;
        const int64_t count = size();
        for (int64_t at = 0; at < count; ++at) total += int64_t(first[at]);
        return total;
    }

    T *begin() const { return first; }
    T *end() const { return first + shape[0]; }

  private:
    template <class... I> int64_t offset(const char *place, I... index) const {
        const int64_t places[] = {int64_t(index)...};
        int64_t at = 0;
        for (int n = 0; n < int(sizeof...(I)); ++n) {
            check_index(places[n], shape[n], place);
            at = n ? at * shape[n] + places[n] : places[n];
        }
        return at;
    }
    int64_t clamped(int64_t place) const {
        if (place < 0) place += shape[0];
        return place < 0 ? 0 : place > shape[0] ? shape[0] : place;
    }
};

// Records of one kind, in one or more dimensions.
template <class K, int N> struct Records {
    K *first;
    int64_t shape[N];

    template <class... I> K &operator()(I... index) const { return at("", index...); }
    template <class... I> K &at(const char *place, I... index) const {
        static_assert(sizeof...(I) == N);
        const int64_t places[] = {int64_t(index)...};
        int64_t number = 0;
        for (int n = 0; n < N; ++n) {
            check_index(places[n], shape[n], place);
            number = n ? number * shape[n] + places[n] : places[n];
        }
        return first[number];
    }

    int64_t size() const {
        int64_t count = 1;
        for (int n = 0; n < N; ++n) count *= shape[n];
        return count;
    }
};

// Numbers from one to another, the last one excluded.
struct Range {
    int64_t from, to;

    struct Place {
        int64_t value;
        int64_t operator*() const { return value; }
        void operator++() { ++value; }
        bool operator!=(Place other) const { return value < other.value; }
    };
    Place begin() const { return {from}; }
    Place end() const { return {to}; }
};

// Counters that nobody reads.
struct Counters {
    struct Ignored {
        template <class T> void operator=(T) const {}
        template <class T> void operator+=(T) const {}
    };
    Ignored operator()(int64_t) const { return {}; }
};
inline Counters new_counters(int64_t) { return {}; }

// Python's operators: quotients are rounded down, and shifts by 64 bits and more give what an unbounded integer would.
inline int64_t floor_div(int64_t a, int64_t b, const char *place = "") {
    if (b == 0) [[unlikely]]
        raise(Fault::division, place);
    if (b == -1) return int64_t(0 - uint64_t(a)); // the processor traps on the least integer divided by -1
    const int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t modulo(int64_t a, int64_t b, const char *place = "") {
    if (b == 0) [[unlikely]]
        raise(Fault::division, place);
    if (b == -1) return 0;
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
inline uint64_t floor_div(uint64_t a, uint64_t b, const char *place = "") {
    if (b == 0) [[unlikely]]
        raise(Fault::division, place);
    return a / b;
}
inline uint64_t modulo(uint64_t a, uint64_t b, const char *place = "") {
    if (b == 0) [[unlikely]]
        raise(Fault::division, place);
    return a % b;
}

[[gnu::cold]] inline int64_t far_shift(int64_t count, int64_t result, const char *place) {
    if (count < 0) raise(Fault::shift, place);
    return result;
}
inline int64_t shift_left(int64_t a, int64_t count, const char *place = "") {
    if (uint64_t(count) > 63) [[unlikely]]
        return far_shift(count, 0, place);
    return int64_t(uint64_t(a) << count);
}
inline int64_t shift_right(int64_t a, int64_t count, const char *place = "") {
    if (uint64_t(count) > 63) [[unlikely]]
        return far_shift(count, a < 0 ? -1 : 0, place);
    return a >> count;
}
inline uint64_t shift_left(uint64_t a, int64_t count, const char *place = "") {
    if (uint64_t(count) > 63) [[unlikely]]
        return uint64_t(far_shift(count, 0, place));
    return a << count;
}
inline uint64_t shift_right(uint64_t a, int64_t count, const char *place = "") {
    if (uint64_t(count) > 63) [[unlikely]]
        return uint64_t(far_shift(count, 0, place));
    return a >> count;
}

inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
inline uint64_t min(uint64_t a, uint64_t b) { return a < b ? a : b; }
inline uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }
inline int64_t abs(int64_t a) { return a < 0 ? int64_t(0 - uint64_t(a)) : a; }

// Bits of an integer.
inline int64_t lowest(int64_t members) { return members ? __builtin_ctzll(uint64_t(members)) : 64; }
inline int64_t length(int64_t number) { return number ? 64 - __builtin_clzll(uint64_t(number)) : 0; }
inline int64_t bit_count(int64_t members) { return __builtin_popcountll(uint64_t(members)); }

// A hint that memory is needed soon; it changes no result.
template <class T, int N> inline void prefetch(const Array<T, N> &array, int64_t number) {
    __builtin_prefetch(array.first + number, 1);
}
template <class K, int N> inline void prefetch(const Records<K, N> &records, int64_t number) {
    __builtin_prefetch(records.first + number, 1);
}

// Words that several threads change.
inline int64_t fetch_add(const Array<int64_t, 1> &words, int64_t place, int64_t more) {
    return __atomic_fetch_add(&words.first[place], more, __ATOMIC_SEQ_CST);
}
inline int64_t load_shared(const Array<int64_t, 1> &words, int64_t place) {
    return __atomic_load_n(&words.first[place], __ATOMIC_ACQUIRE);
}
extern "C" int sched_yield(void) noexcept;
inline void yield_core() { sched_yield(); }

// One cycle of compiled hardware.
inline void call_step(int64_t step, int64_t device, const Array<uint64_t, 1> &inputs, const Array<uint64_t, 1> &outputs) {
    reinterpret_cast<void (*)(void *, uint64_t *, uint64_t *)>(step)(reinterpret_cast<void *>(device), inputs.first,
                                                                    outputs.first);
}

} // namespace rt
