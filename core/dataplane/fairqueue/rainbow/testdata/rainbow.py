# Rainbow FQ: layers with bounds of one ratio, a colour by the layer of a number drawn in [0, rate), a threshold of
# colours.
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/rainbow/testdata/rainbow.py
import os
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from users import *
class RFQ:
    def __init__(s, weights, limit, top, N=64, first=0.001, K=0.1, low=6, high=12, interval=10 ** 10):
        s.w = weights
        s.r = [Est(K) for _ in weights]
        s.limit = limit
        s.N = N
        g = (1 / first) ** (1 / (N - 1))
        s.bounds = [top * first * g ** i for i in range(N - 1)]
        s.ct = N - 1
        s.hi = 0
        s.old = 0
        s.due = 0
        s.low = low
        s.high = high
        s.iv = interval
        s.q = []

    def arrive(s, now, i, u, sz, draw):
        x = draw * s.r[u].upd(now, sz * 8) / s.w[u]
        c = sum((1 for b in s.bounds if x > b))
        s.hi = max(s.hi, c)
        if now >= s.due:
            n = len(s.q)
            if n > s.high and n >= s.old:
                s.ct = max(min(s.ct, s.hi) - 1, 0)
            elif n < s.low:
                s.ct = min(s.ct + 1, s.N - 1)
            s.old = n
            s.hi = 0
            s.due = now + s.iv
        st = 'colour %d threshold %d' % (c, s.ct)
        if c > s.ct:
            return ('early drop ' + st, [])
        if len(s.q) >= s.limit:
            return ('port packets ' + st, [])
        s.q.append((i, sz))
        return ('pass ' + st, [])

    def dequeue(s, now, later):
        return s.q.pop(0) if s.q else None
a = Rng(11).arrivals(300, 2300, (6, 3, 2), (400, 1514))
b = Rng(12).arrivals(60, 12000, (1, 1, 1), (400, 1514))
arr = after(a, b)
write(
    'rainbow',
    run(
        arr,
        1500000,
        RFQ([1, 2, 1], 24, 1500000.0),
        [
            '# Rainbow fair queueing, worked out from its description alone: users of ports 0, 1 and 2 have weights 1, 2 and 1;',
            '# 1.5 Mb/s, 24 packets, 64 colours whose bounds are from 1.5 kb/s to 1.5 Mb/s; more than the link has, then less.',
        ],
    ),
)
