"""How many bits of a word are set: one instruction, where kernels are compiled."""

from tiersim.kernel import jit_enabled, kernel


@kernel
def _in_machine_code(word: int) -> int:
    # LLVM knows this sum by its form, and makes one instruction of it
    pairs = word - (word >> 1 & 0x5555_5555_5555_5555)
    nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333)
    octets = nibbles + (nibbles >> 4) & 0x0F0F_0F0F_0F0F_0F0F
    return octets * 0x0101_0101_0101_0101 >> 56 & 0x7F


def _in_python(word: int) -> int:
    return (int(word) & (1 << 64) - 1).bit_count()


#: Counts the bits of an int64; callable from kernels.
count_bits = _in_machine_code if jit_enabled() else _in_python
