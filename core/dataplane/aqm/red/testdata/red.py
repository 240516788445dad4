# RED: Floyd, Jacobson 1993, figure 2 (detailed algorithm), with gentle: from max_th to twice that the probability
# grows from max_p to 1.
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/red/testdata/red.py
import os
import random
import math
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from link import *
MS = 10 ** 6

class RED:
    def __init__(s, mn, mx, mp, w, rate, mean, gentle, by_bytes):
        s.mean, s.by_bytes = (mean, by_bytes)
        s.mn, s.mx, s.mp, s.w, s.gentle = (mn, mx, mp, w, gentle)
        s.q = []
        s.avg = 0.0
        s.count = -1
        s.qtime = 0
        s.s = mean * 8 * 10 ** 9 / rate
        s.rate = rate
        s.r = Weyl()
        s.top = 0

    def enqueue(s, p, now):
        if s.q or now < s.qtime:
            s.avg = (1 - s.w) * s.avg + s.w * sum(x.size for x in s.q)
        else:
            s.avg *= (1 - s.w) ** ((now - s.qtime) / s.s)
        s.top = max(s.top, s.avg)
        if s.avg < s.mn:
            s.count = -1
        else:
            s.count += 1
            full = 2 * s.mx if s.gentle else s.mx
            if s.avg >= full:
                hit = True
            else:
                if s.avg < s.mx:
                    pb = s.mp * (s.avg - s.mn) / (s.mx - s.mn)
                else:
                    pb = s.mp + (1 - s.mp) * (s.avg - s.mx) / s.mx
                if s.by_bytes:
                    pb *= p.size / s.mean
                pa = 1 if s.count * pb >= 1 else min(1, pb / (1 - s.count * pb))
                hit = pa >= 1 or (pa > 0 and s.r.u() < pa)
            if hit:
                s.count = 0
                if p.ecn and s.avg < s.mx:
                    p.marked = True
                else:
                    return False
        s.q.append(p)
        return True

    def dequeue(s, now, drop):
        if not s.q:
            return None
        p = s.q.pop(0)
        if not s.q:
            s.qtime = now + p.size * 8 * 10 ** 9 // s.rate
        return p

for name, gentle, ecn, by_bytes in (('gentle', True, 1, False), ('hard', False, 0, False), ('bytes', True, 1, True)):
    r = random.Random(1993)
    pk = []
    load(r, pk, 1000000, 250 * MS, 750000, ecn)
    load(r, pk, 330 * MS, 420 * MS, 700000, ecn)
    load(r, pk, 430 * MS, 600 * MS, 640000, ecn)
    run(RED(5 * 1500, 15 * 1500, 0.1, 0.02, 12 * 10 ** 6, 1500, gentle, by_bytes), pk, 12 * 10 ** 6)
    write(
        'red-' + name,
        pk,
        [
            'RED (Floyd, Jacobson 1993, figure 2)' + (', gentle,' if gentle else '') + ' at 12 Mb/s: min_th 7500 B, max_th 22500 B, max_p 10 %, w_q 0.02, packets of',
            '1500 bytes for the time without a queue. Number k that is drawn is (k*0x9e3779b97f4a7c15 mod 2^53)/2^53.',
        ] + ['The probability is in proportion to the bytes of a packet of 1500 (section 4).'] * by_bytes + ["Worked out by an evaluator of the paper's algorithm that has nothing in common with this program."],
    )
