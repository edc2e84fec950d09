"""Numbers as JSON has them, a line each with the bits of the double that float() makes of it: number_oracle.py SEED COUNT

Half of them are hard: half-way between two doubles or a digit beside it, subnormal, of very many digits, or at the ends of
the range.
"""

import math
import random
import struct
import sys
from decimal import Decimal, getcontext

getcontext().prec = 1200


def digits(count):
    return str(random.randrange(10 ** (count - 1), 10**count))


def bits():
    while True:
        number = struct.unpack(">d", random.getrandbits(64).to_bytes(8, "big"))[0]
        if math.isfinite(number):
            return number


def half_way():
    below = abs(bits()) if random.random() < 0.8 else random.randrange(1, 1 << 52) * 5e-324
    above = math.nextafter(below, math.inf)
    if math.isinf(above):
        return "1.7976931348623158079372897140530341507993413271003782693617377898044e308"
    middle = (Decimal(below) + Decimal(above)) / 2
    text = str(middle).replace("E", "e")
    mantissa, _, exponent = text.partition("e")
    kind = random.randrange(3)
    if kind == 1:
        mantissa += "1" if "." in mantissa else ".0000001"
    elif kind == 2 and mantissa[-1] in "123456789":
        mantissa = mantissa[:-1] + str(int(mantissa[-1]) - 1)
    return mantissa + ("e" + exponent if exponent else "")


def number():
    kind = random.randrange(100)
    if kind < 20:
        return repr(bits())
    if kind < 40:
        return f"{random.uniform(-1e6, 1e6):.{random.randrange(1, 12)}f}"
    if kind < 60:
        return f"{digits(random.randrange(1, 25))}e{random.randrange(-345, 311)}"
    if kind < 70:
        whole = digits(random.randrange(15, 22))
        point = random.randrange(1, len(whole))
        return whole[:point] + "." + whole[point:]
    if kind < 78:
        return f"{digits(random.randrange(1, 20))}E{random.choice(['+', '-', ''])}{random.randrange(0, 25)}"
    if kind < 88:
        return half_way()
    if kind < 94:
        return repr(random.randrange(0, 1 << 52) * 5e-324)
    if kind < 97:
        return f"{random.uniform(1.79, 1.80):.17f}e308"
    if kind < 98:
        return "0." + "0" * random.randrange(1, 400) + digits(random.randrange(1, 40))
    if kind < 99:
        return digits(random.randrange(300, 900)) + random.choice(["", ".5", "e-500", "e-700"])
    return random.choice(["0e999", "0.000e-999", "1e308", "1e309", "1e-323", "4.9e-324", "2.4703282292062327e-324"])


def main():
    random.seed(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        text = number()
        if text[0] != "-" and random.random() < 0.3:
            text = "-" + text
        sys.stdout.write(f"{text} {struct.unpack('>Q', struct.pack('>d', float(text)))[0]:x}\n")


main()
