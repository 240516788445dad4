# RFC 8289 section 5's pseudo-code, and marking in place of dropping for ECN-capable packets
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/codel/testdata/codel.py
import math
import os
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from link import *
MS = 10 ** 6

class CoDel:
    def __init__(s, target, interval, maxpacket):
        s.q = []
        s.T = target
        s.I = interval
        s.mp = maxpacket
        s.first = 0
        s.dropnext = 0
        s.count = 0
        s.lastcount = 0
        s.dropping = False

    def bytes(s):
        return sum(p.size for p in s.q)

    def law(s, t, c):
        return t + s.I / math.sqrt(c)

    def dodeque(s, now):
        if not s.q:
            s.first = 0
            return (None, False)
        p = s.q.pop(0)
        ok = False
        if now - p.at < s.T or s.bytes() <= s.mp:
            s.first = 0
        elif s.first == 0:
            s.first = now + s.I
        elif now >= s.first:
            ok = True
        return (p, ok)

    def enqueue(s, p, now):
        s.q.append(p)
        return True

    def mark(s, p):
        if p.ecn == 0:
            return False
        p.marked = True
        return True

    def dequeue(s, now, drop):
        p, ok = s.dodeque(now)
        if s.dropping:
            if not ok:
                s.dropping = False
            while s.dropping and now >= s.dropnext:
                s.count += 1
                if s.mark(p):
                    s.dropnext = s.law(s.dropnext, s.count)
                    break
                drop(p, now)
                p, ok = s.dodeque(now)
                if not ok:
                    s.dropping = False
                else:
                    s.dropnext = s.law(s.dropnext, s.count)
        elif ok:
            if not s.mark(p):
                drop(p, now)
                p, ok = s.dodeque(now)
            s.dropping = True
            delta = s.count - s.lastcount
            s.count = 1
            if delta > 1 and now - s.dropnext < 16 * s.I:
                s.count = delta
            s.dropnext = s.law(now, s.count)
            s.lastcount = s.count
        return p

if __name__ == '__main__':
    for name, ecn in (('drop', 0), ('ecn', 1)):
        r = random.Random(8289)
        pk = []
        t = 1000000

        def burst(t, until, gap):
            while t < until:
                t += r.randint(gap // 2, gap * 3 // 2)
                e = r.choice([0, 1, 2]) if ecn else 0
                pk.append(Pkt(len(pk), t, 0, r.randint(0, 3), e, r.choice([1500, 1500, 1500, 750])))
        burst(t, 130 * MS, 500000)
        burst(260 * MS, 370 * MS, 500000)
        burst(1200 * MS, 1310 * MS, 450000)
        burst(1570 * MS, 1680 * MS, 450000)
        d = CoDel(2 * MS, 20 * MS, 1514)
        run(d, pk, 12 * 10 ** 6)
        write(
            'codel-' + name,
            pk,
            [
                'RFC 8289 section 5 at 12 Mb/s, target 2 ms, interval 20 ms, frames of at most 1514 bytes' + (', ECN-capable packets marked' if ecn else '') + '.',
                "Worked out by an evaluator of the RFC's pseudo-code that has nothing in common with this program.",
            ],
        )
