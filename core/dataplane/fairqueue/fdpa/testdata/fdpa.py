# FDPA: rate of each user over its fair share chooses a queue of strict priority. Rates by CSFQ equation (3).
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/fdpa/testdata/fdpa.py
import os
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from users import *
class FDPA:
    def __init__(s, weights, C, N, limit, K=0.1, active=1.0, step=1.25):
        s.w = weights
        s.C = C
        s.N = N
        s.limit = limit
        s.r = [Est(K) for _ in weights]
        s.last = [None] * len(weights)
        s.act = int(active * 1000000000000.0)
        s.q = [[] for _ in range(N)]
        s.step = step
        s.sum = 0.0
        s.due = 0

    def arrive(s, now, i, u, sz, draw):
        rate = s.r[u].upd(now, sz * 8)
        if s.last[u] is None:
            s.sum += s.w[u]
        s.last[u] = now
        if now >= s.due:
            s.due = now + s.act // 4
            for v, l in enumerate(s.last):
                if l is not None and now - l > s.act:
                    s.last[v] = None
            s.sum = float(sum((w for w, l in zip(s.w, s.last) if l is not None)))
        x = rate / (s.C * s.w[u] / s.sum)
        k = sum((1 for j in range(s.N - 1) if x > s.step ** j))
        if sum(map(len, s.q)) >= s.limit:
            return ('port packets queue %d' % k, [])
        s.q[k].append((i, sz))
        return ('pass queue %d' % k, [])

    def dequeue(s, now, later):
        for q in s.q:
            if q:
                return q.pop(0)
        return None
a = Rng(8).arrivals(200, 3500, (6, 3, 2), (400, 1514))
b = Rng(9).arrivals(60, 6000, (1, 1, 0), (400, 1514))
c = Rng(10).arrivals(60, 40000, (1, 0, 1), (400, 1514))
write(
    'fdpa',
    run(
        after(after(a, b), c),
        1500000,
        FDPA([1, 2, 1], 1500000.0, 4, 12),
        [
            '# FDPA, worked out from its description alone: users of ports 0, 1 and 2 have weights 1, 2 and 1; 1.5 Mb/s, 4 queues,',
            '# 12 packets, K = 100 ms; users share who sent within 1 s; priorities at 1, 1.25 and 1.5625 fair shares.',
        ],
    ),
)
