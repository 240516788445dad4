# Per packet value: rank of a number drawn in [0, rate); the least value goes (GLOBECOM 2016), or PVPIE's threshold.
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/ppv/testdata/ppv.py
import os
import sys
from math import log10, ceil
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from users import *
class Marker:
    def __init__(s, weights, K=0.1, lo=10000.0, hi=100000000000.0, steps=30):
        s.r = [Est(K) for _ in weights]
        s.w = weights
        s.lo = lo
        s.steps = steps
        s.n = 2 + ceil(steps * log10(hi / lo))

    def rank(s, now, u, sz, draw):
        x = draw * s.r[u].upd(now, sz * 8) / s.w[u]
        return 0 if x <= s.lo else min(int(steps_between(x, s.lo, s.steps)) + 1, s.n - 1)

def steps_between(x, lo, steps):
    return steps * log10(x / lo)

class Smallest(Marker):
    def __init__(s, weights, limit):
        super().__init__(weights)
        s.q = []
        s.limit = limit

    def arrive(s, now, i, u, sz, draw):
        k = s.rank(now, u, sz, draw)
        ev = []
        if len(s.q) >= s.limit:
            worst = max(x[2] for x in s.q)
            if worst <= k:
                return ('port packets rank %d' % k, ev)
            j = max((n for n, x in enumerate(s.q) if x[2] == worst))
            ev.append(s.q.pop(j)[0])
        s.q.append((i, sz, k))
        return ('pass rank %d' % k, ev)

    def dequeue(s, now, later):
        return s.q.pop(0)[:2] if s.q else None

class PVPIE(Marker):
    def __init__(s, weights, C, limit, target=0.015, tu=0.015, W=0.1):
        super().__init__(weights)
        s.q = []
        s.limit = limit
        s.C = C
        s.target = target
        s.tu = int(tu * 1000000000000.0)
        s.W = int(W * 1000000000000.0)
        s.p = 0.0
        s.old = 0.0
        s.due = 0
        s.turn = 0
        s.h = [0] * s.n
        s.g = [0] * s.n
        s.ctv = None
        s.part = 0.0

    def arrive(s, now, i, u, sz, draw):
        k = s.rank(now, u, sz, draw)
        if now >= s.turn:
            s.g = s.h if now < s.turn + s.W else [0] * s.n
            s.h = [0] * s.n
            s.turn = now + s.W
        s.h[k] += sz
        if now >= s.due:
            d = sum(x[1] for x in s.q) * 8 / s.C
            dp = 0.125 * (d - s.target) + 1.25 * (d - s.old)
            for lim, div in ((1e-06, 2048), (1e-05, 512), (0.0001, 128), (0.001, 32), (0.01, 8), (0.1, 2)):
                if s.p < lim:
                    dp /= div
                    break
            s.p = min(max(s.p + dp, 0), 1)
            if d == 0 and s.old == 0:
                s.p *= 0.98
            s.old = d
            s.due = now + s.tu
            tot = [a + b for a, b in zip(s.h, s.g)]
            want = s.p * sum(tot)
            s.ctv = None
            s.part = 0.0
            acc = 0
            for r in range(s.n - 1, -1, -1):
                if want - acc <= 0:
                    break
                if tot[r] == 0:
                    continue
                s.ctv = r
                if want - acc < tot[r]:
                    s.part = (want - acc) / tot[r]
                    break
                s.part = 1
                acc += tot[r]
        st = 'rank %d threshold %s part %.6g' % (k, 'none' if s.ctv is None else s.ctv, s.part)
        if s.ctv is not None and (k > s.ctv or (k == s.ctv and draw < s.part)):
            return ('early drop ' + st, [])
        if len(s.q) >= s.limit:
            return ('port packets ' + st, [])
        s.q.append((i, sz))
        return ('pass ' + st, [])

    def dequeue(s, now, later):
        return s.q.pop(0) if s.q else None
arr = Rng(5).arrivals(150, 2500, (6, 3, 2), (400, 1514))
write(
    'smallest',
    run(
        arr,
        1500000,
        Smallest([1, 2, 1], 8),
        [
            '# PPV, the least value of a full buffer goes, worked out from the paper alone: users of ports 0, 1 and 2 have weights',
            '# 1, 2 and 1; 1.5 Mb/s, 8 packets, K = 100 ms, values from 10 kb/s in steps of 10^(1/30).',
        ],
    ),
)
arr = Rng(6).arrivals(400, 2500, (6, 3, 2), (400, 1514))
write(
    'threshold',
    run(
        arr,
        1500000,
        PVPIE([1, 2, 1], 1500000.0, 30),
        [
            '# PPV with a threshold by PIE (PVPIE, RFC 8033 §4.2), worked out from these alone: users of ports 0, 1 and 2 have',
            '# weights 1, 2 and 1; 1.5 Mb/s, 30 packets, K = 100 ms, windows of 100 ms; values as in the other transcript.',
        ],
    ),
)
