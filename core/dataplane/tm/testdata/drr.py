# Deficit round robin (Shreedhar, Varghese, SIGCOMM'95 §3) with credit that may fall below 0 (RFC 8290 §4.2), one list
# a user, quanta by weight, and the longest list giving way.
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/tm/testdata/drr.py
import os
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from users import *
class DRR:
    def __init__(s, weights, quantum, limit):
        s.q = [[] for _ in weights]
        s.quantum = [w * quantum for w in weights]
        s.credit = [0] * len(weights)
        s.active = []
        s.limit = limit

    def count(s):
        return sum(map(len, s.q))

    def bytes(s, u):
        return sum((x[1] for x in s.q[u]))

    def arrive(s, now, i, u, sz, dr):
        ev = []
        while s.count() >= s.limit:
            longest = max(range(len(s.q)), key=s.bytes)
            if s.bytes(u) + sz >= s.bytes(longest):
                return ('port packets', ev)
            ev.append(s.q[longest].pop()[0])
        s.q[u].append((i, sz))
        if u not in s.active:
            s.active.append(u)
            s.credit[u] = s.quantum[u]
        return ('pass', ev)

    def dequeue(s, now, later):
        if s.count() == 0:
            s.active = []
            return None
        while True:
            u = s.active[0]
            if s.credit[u] <= 0:
                s.credit[u] += s.quantum[u]
                s.active.append(s.active.pop(0))
            elif not s.q[u]:
                s.active.pop(0)
            else:
                x = s.q[u].pop(0)
                s.credit[u] -= x[1]
                if s.count() == 0:
                    s.active = []
                return x
arr = Rng(1).arrivals(120, 700, (5, 3, 4))
head = ['# Deficit round robin (DRR §3; credit as in RFC 8290 §4.2) by user, worked out from the papers alone: users of', '# ports 0, 1 and 2 have weights 1, 2 and 1; quantum 1514 B, 5 Mb/s, 10 packets; the longest user gives way.']
write('user_fq', run(arr, 5000000, DRR([1, 2, 1], 1514, 10), head))
