# RFC 8290 section 4: queues by flow, new and old, deficits, CoDel (RFC 8289 section 5) on each. One flow a queue
# here: no two collide.
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/codel/testdata/fq_codel.py
import os
import random
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from link import *
from codel import CoDel, MS
class FQCoDel:
    def __init__(s, target, interval, quantum, limit):
        s.mk = lambda: CoDel(target, interval, 1514)
        s.quantum = quantum
        s.limit = limit
        s.q = {}
        s.credit = {}
        s.new = []
        s.old = []

    def total(s):
        return sum((len(c.q) for c in s.q.values()))

    def enqueue(s, p, now):
        f = (p.src, p.flow)
        if f not in s.q:
            s.q[f] = s.mk()
            s.credit[f] = 0
        s.q[f].q.append(p)
        if f not in s.new and f not in s.old:
            s.new.append(f)
            s.credit[f] = s.quantum
        if s.total() > s.limit:
            g = max(s.q, key=lambda g: (s.q[g].bytes(), g == f))
            x = s.q[g].q.pop(0)
            x.out = ('dropped', now)
        return True

    def dequeue(s, now, drop):
        while True:
            lst = s.new if s.new else s.old
            if not lst:
                return None
            f = lst[0]
            if s.credit[f] <= 0:
                s.credit[f] += s.quantum
                lst.pop(0)
                s.old.append(f)
                continue
            p = s.q[f].dequeue(now, drop)
            if p is None:
                lst.pop(0)
                if lst is s.new and s.old:
                    s.old.append(f)
                elif lst is s.new:
                    pass
                continue
            s.credit[f] -= p.size
            return p

r = random.Random(8290)
pk = []

for k, (gap, size, ecn) in enumerate([(2300, 1500, 0), (2400, 1500, 2), (2300, 750, 1), (9000, 375, 0)]):
    t = 1000000 + k * 17000
    if k < 3:
        for b in range(8):
            pk.append((t + b * 1013, k, ecn, size))
            pk.append((130 * MS + t + b * 1013, k, ecn, size))
    while t < 260 * MS:
        t += r.randint(gap * 500, gap * 1500)
        if 90 * MS < t < 131 * MS:
            continue
        pk.append((t, k, ecn, size))

for k in range(30):
    pk.append((200 * MS + k * 1000 + 7, 4, 0, 1500))
pk.sort()
pk = [Pkt(i, t, 0, k, e, z) for i, (t, k, e, z) in enumerate(pk)]
d = FQCoDel(2 * MS, 20 * MS, 1514, 60)
run(d, pk, 12 * 10 ** 6)
write(
    'fq_codel',
    pk,
    [
        'RFC 8290 section 4 with RFC 8289 section 5 at 12 Mb/s: target 2 ms, interval 20 ms, quantum 1514 bytes, at most',
        '60 packets, frames of at most 1514 bytes. Flows 0 to 2 load the link, flow 3 is light, flow 4 a burst.',
        "Worked out by an evaluator of the RFCs' pseudo-code that has nothing in common with this program.",
    ],
)
