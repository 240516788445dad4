# CSFQ figure 3, equations (3) and (5), and the text's rules on thresholds and overflow.
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/csfq/testdata/csfq.py
import os
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from users import *
class CSFQ:
    def __init__(s, weights, C, limit, K=0.1, Ka=0.2, Kc=0.2):
        s.w = weights
        s.C = C
        s.limit = limit
        s.r = [Est(K) for _ in weights]
        s.A = Est(Ka)
        s.F = Est(Ka)
        s.Kc = int(Kc * 1000000000000.0)
        s.alpha = 0.0
        s.tmp = 0.0
        s.congested = False
        s.start = 0
        s.base = 0.0
        s.q = []

    def estimate(s, now, label, l, dropped):
        A = s.A.upd(now, l)
        if not dropped:
            s.F.upd(now, l)
        full = len(s.q) >= s.limit / 2
        if A >= s.C and (s.congested or full):
            if not s.congested:
                s.congested = True
                s.start = now
                if s.alpha == 0:
                    s.alpha = s.base = max(s.tmp, label)
            elif now > s.start + s.Kc:
                s.alpha = s.base = s.alpha * s.C / s.F.now(now)
                s.start = now
        elif s.congested:
            s.congested = False
            s.start = now
            s.tmp = 0.0
        elif now < s.start + s.Kc:
            s.tmp = max(s.tmp, label)
        elif full:
            s.alpha = s.base = s.tmp
            s.start = now
            s.tmp = 0.0
        else:
            s.alpha = s.base = 0.0
            s.start = now

    def arrive(s, now, i, u, sz, draw):
        label = s.r[u].upd(now, sz * 8) / s.w[u]
        prob = max(0, 1 - s.alpha / label) if s.alpha > 0 else 0
        if prob > draw:
            s.estimate(now, label, sz * 8, True)
            d = 'early drop'
        elif len(s.q) >= s.limit:
            s.estimate(now, label, sz * 8, True)
            d = 'port packets'
            s.alpha = max(s.alpha * 0.99, s.base * 0.75)
        else:
            s.q.append((i, sz))
            s.estimate(now, label, sz * 8, False)
            d = 'pass'
        return ('%s label %.6g alpha %.6g' % (d, label, s.alpha), [])

    def dequeue(s, now, later):
        return s.q.pop(0) if s.q else None
a = Rng(3).arrivals(260, 2300, (6, 2, 2), (400, 1514))
b = Rng(4).arrivals(90, 12000, (1, 1, 2), (400, 1514))
arr = after(a, b)
head = ['# CSFQ (figure 3, equations (3) and (5)), worked out from the paper alone: users of ports 0, 1 and 2 have weights', '# 1, 2 and 1; 1.5 Mb/s, 10 packets, K = 100 ms, K_alpha = K_c = 200 ms; more than the link has, then less.']
write('csfq', run(arr, 1500000, CSFQ([1, 2, 1], 1500000.0, 10), head))
