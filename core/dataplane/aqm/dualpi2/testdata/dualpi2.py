# RFC 9332 appendix A: DualPI2 with overload (A.2), time-shifted FIFO as scheduler, sojourn time as delay
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/dualpi2/testdata/dualpi2.py
import os
import random
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from link import *
MS = 10 ** 6

class Q:
    def __init__(s):
        s.l = []
        s.count = 0.0

class Dual:
    def __init__(s, target, rtt, minth, rng, k, tshift, thlen=1):
        s.target = target / 1e9
        R = rtt / 1e9
        s.tup = min(s.target, R / 3)
        s.alpha = 0.1 * s.tup / R ** 2
        s.beta = 0.3 / R
        s.k = k
        s.pCmax = min(1 / k ** 2, 1)
        s.pLmax = 1.0
        s.minth, s.rng, s.thlen, s.tshift = (minth, rng, thlen, tshift)
        s.L, s.C = (Q(), Q())
        s.p = 0.0
        s.pCL = 0.0
        s.pC = 0.0
        s.prev = 0.0
        s.peak = 0

    def enqueue(s, p, now):
        (s.L if p.ecn % 2 == 1 else s.C).l.append(p)
        return True

    def laqm(s, d):
        if d >= s.minth + s.rng:
            return 1.0
        if d > s.minth:
            return (d - s.minth) / s.rng
        return 0.0

    def recur(s, q, lik):
        q.count += lik
        if q.count > 1:
            q.count -= 1
            return True
        return False

    def mark(s, p):
        if p.ecn != 3:
            p.marked = True

    def dequeue(s, now, drop):
        while s.L.l or s.C.l:
            low = bool(s.L.l) and (not s.C.l or now - s.L.l[0].at + s.tshift >= now - s.C.l[0].at)
            if low:
                p = s.L.l.pop(0)
                if s.pCL < s.pLmax:
                    pl = s.laqm(now - p.at) if len(s.L.l) > s.thlen else 0.0
                    if s.recur(s.L, max(pl, s.pCL)):
                        s.mark(p)
                else:
                    if s.recur(s.L, s.pC):
                        drop(p, now)
                        continue
                    if s.recur(s.L, s.pCL):
                        s.mark(p)
            else:
                p = s.C.l.pop(0)
                if s.recur(s.C, s.pC):
                    if p.ecn == 0 or s.pC >= s.pCmax:
                        drop(p, now)
                        continue
                    s.mark(p)
            return p
        return None

    def timer(s, now):
        t = lambda q: (now - q.l[0].at) / 1e9 if q.l else 0.0
        cur = max(t(s.C), t(s.L))
        s.p += s.alpha * (cur - s.target) + s.beta * (cur - s.prev)
        s.p = min(max(s.p, 0.0), 1.0)
        s.peak = max(s.peak, s.p)
        s.pCL = s.k * s.p
        s.pC = s.p ** 2
        s.prev = cur

r = random.Random(9332)
pk = []

def flow(f, ecn, frm, to, gap, size):
    t = frm
    while t < to:
        t += r.randint(gap // 2, gap * 3 // 2)
        pk.append((t, f, ecn, size))
flow(0, 0, 1 * MS, 400 * MS, 2400000, 1500)
flow(1, 2, 1 * MS, 400 * MS, 2500000, 1500)
flow(2, 1, 20 * MS, 300 * MS, 1900000, 750)
flow(3, 1, 420 * MS, 520 * MS, 450000, 750)
flow(0, 0, 410 * MS, 700 * MS, 1200000, 1500)
flow(2, 1, 560 * MS, 700 * MS, 700000, 1500)

for k in range(5):
    pk.append((350 * MS + k * 999, 4, 3, 750))
pk.sort()
pk = [Pkt(i, t, 0, f, e, z) for i, (t, f, e, z) in enumerate(pk)]
d = Dual(5 * MS, 20 * MS, 800000, 400000, 2, 10 * MS)
run(d, pk, 12 * 10 ** 6, (0, 5 * MS))
write(
    'dualpi2',
    pk,
    [
        'RFC 9332 appendix A.1 and A.2 at 12 Mb/s: target 5 ms, RTT_max 20 ms, and so an update every 5 ms, alpha 1.25 and beta',
        '15 per second; k 2, ramp from 800 us to 1200 us; time-shifted FIFO with tshift 10 ms; delays are sojourn times.',
        "Worked out by an evaluator of the RFC's pseudo-code that has nothing in common with this program.",
    ],
)
