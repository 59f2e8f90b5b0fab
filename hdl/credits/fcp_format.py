"""Flow-control packets in hardware: fields and checksum."""

from __future__ import annotations

from amaranth.hdl import Cat, Value, unsigned
from amaranth.lib import data

FCP_LAYOUT = data.StructLayout(
    {"lpcrc": unsigned(16), "fccl": unsigned(12), "vl": unsigned(4), "fctbs": unsigned(12), "op": unsigned(4)}
)
"""The 48 bits of an FCP; the field sent last is lowest."""

_TAPS = (15, 14, 12, 3)  # x**16 + x**12 + x**3 + x + 1, bits of a byte lowest first


def check_sum(body: Value) -> Value:
    """Return the LPCRC over the 32 preceding bits, as one level of parity trees (polynomial of IBA 7.8.2).

    Known answers: 0x62B3 for the bits 0x00000000, 0x17E2 for the bits 0x01234567.
    """
    # Each register bit is the parity of a set of body bits; element 32 stands for the constant 1.
    register = [{32} for _ in range(16)]
    for byte in (3, 2, 1, 0):
        for bit in range(8):
            out = register[0] ^ {8 * byte + bit}
            register = [*register[1:], set()]
            for tap in _TAPS:
                register[tap] = register[tap] ^ out
    return Cat(_parity(body, members ^ {32}) for members in register)


def _parity(body: Value, members: set[int]) -> Value:
    bits = Cat(body[index] for index in sorted(members - {32})).xor()
    return ~bits if 32 in members else bits
