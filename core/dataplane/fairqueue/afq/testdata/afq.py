# AFQ: bids of bit-by-bit round robin in rounds of BpR bytes, with exact counters in place of a sketch.
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/afq/testdata/afq.py
import os
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from users import *
class AFQ:
    def __init__(s, weights, B, N, limit):
        s.w = weights
        s.B = B
        s.N = N
        s.bid = [0] * len(weights)
        s.R = 0
        s.q = [[] for _ in range(N)]
        s.limit = limit

    def arrive(s, now, i, u, sz, draw):
        b = max(s.bid[u], s.R * s.B) + sz // s.w[u]
        r = b // s.B
        if r - s.R >= s.N:
            return ('early drop round %d' % s.R, [])
        if sum(map(len, s.q)) >= s.limit:
            return ('port packets round %d' % s.R, [])
        s.bid[u] = b
        s.q[r % s.N].append((i, sz))
        return ('pass round %d' % s.R, [])

    def dequeue(s, now, later):
        if not any(s.q):
            return None
        while not s.q[s.R % s.N]:
            s.R += 1
        return s.q[s.R % s.N].pop(0)
arr = Rng(7).arrivals(160, 2000, (6, 3, 2), (400, 1514))
write(
    'afq',
    run(
        arr,
        1500000,
        AFQ([1, 2, 1], 2000, 6, 40),
        [
            '# AFQ, worked out from the paper alone with exact counters: users of ports 0, 1 and 2 have weights 1, 2 and 1;',
            '# 1.5 Mb/s, 6 rounds of 2000 bytes.',
        ],
    ),
)
