# RFC 8033: section 4, appendix A, with 5.1 (ECN), 5.4 (de-randomisation), 5.5 (cap); delay from time stamps (4.3) or
# from the departure rate (5.2, appendix B)
# Has nothing of this program. Writes the transcripts beside it: python3 core/dataplane/pie/testdata/pie.py
import os
import random
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../dataplanetest/testdata'))
from link import *
MS = 10 ** 6

class PIE:
    def __init__(s, ref, tup, burst, rate, alpha=0.125, beta=1.25, mean=1514,
                 room=None, third=None):
        s.room, s.third, s.active, s.since = (room, third, third is None, 0)
        s.REF, s.TUP, s.MAXB, s.alpha, s.beta, s.mean, s.rate = (ref / 1e9, tup / 1e9, burst / 1e9, alpha, beta, mean, rate)
        s.q = []
        s.p = 0.0
        s.old = 0.0
        s.burst = s.MAXB
        s.accu = 0.0
        s.r = Weyl()
        s.last = 0.0
        s.inm = False
        s.dqc = 0
        s.start = 0
        s.avg = 0.0
        s.peak = 0

    def bytes(s):
        return sum(p.size for p in s.q)

    def delay(s):
        if s.rate:
            return s.bytes() * s.avg / 16384 if s.avg > 0 else 0.0
        return s.last if s.q else 0.0

    def drop_early(s):
        if s.old < s.REF / 2 and s.p < 0.2 or s.bytes() <= 2 * s.mean:
            return False
        if s.p == 0:
            s.accu = 0
        s.accu += s.p
        if s.accu < 0.85:
            return False
        if s.accu >= 8.5:
            s.accu = 0
            return True
        if s.r.u() < s.p:
            s.accu = 0
            return True
        return False

    def enqueue(s, p, now):
        if s.third is not None and s.p == 0 and (s.old == 0) and (not s.q):
            s.active = s.inm = False
        if s.room is not None and len(s.q) >= s.room:
            s.accu = 0
            return False
        if not s.active:
            s.q.append(p)
            if len(s.q) >= s.third:
                s.activate(now)
            return True
        if s.p == 0 and s.delay() < s.REF / 2 and (s.old < s.REF / 2):
            s.burst = s.MAXB
        if s.burst == 0 and s.drop_early():
            if s.p <= 0.3 and p.ecn != 0:
                p.marked = True
            else:
                return False
        s.q.append(p)
        return True

    def activate(s, now):
        s.active, s.since = (True, now)
        s.p = s.old = s.accu = s.avg = 0.0
        s.burst = s.MAXB
        s.inm = True
        s.start = now
        s.dqc = 0

    def dequeue(s, now, drop):
        if not s.q:
            return None
        p = s.q.pop(0)
        s.last = (now - p.at) / 1e9
        if s.inm:
            s.dqc += p.size
            if s.dqc >= 16384:
                t = (now - s.start) / 1e9
                s.avg = t if s.avg == 0 else t * 0.25 + s.avg * 0.75
                s.inm = False
        if s.bytes() >= 16384 and (not s.inm):
            s.inm = True
            s.start = now
            s.dqc = 0
        return p

    def timer(s, now):
        if not s.active or (s.third is not None and (now - s.since) / 1e9 < s.TUP):
            return
        cur = s.delay()
        d = s.alpha * (cur - s.REF) + s.beta * (cur - s.old)
        for lim, div in ((1e-06, 2048), (1e-05, 512), (0.0001, 128), (0.001, 32), (0.01, 8), (0.1, 2)):
            if s.p < lim:
                d /= div
                break
        if s.p >= 0.1 and d > 0.02:
            d = 0.02
        s.p += d
        if cur == 0 and s.old == 0:
            s.p *= 0.98
        s.p = min(max(s.p, 0.0), 1.0)
        s.peak = max(s.peak, s.p)
        s.old = cur
        s.burst = max(0.0, s.burst - s.TUP)

def text(delay):
    return [
        'RFC 8033 section 4 and appendix A, with sections 5.1, 5.4 and 5.5, at 12 Mb/s: target 5 ms, update every 15 ms,',
        'burst allowance 60 ms, marks up to 30 %, alpha 2 and beta 20 per second; delay from ' + delay + '.',
        'Number k that is drawn is (k*0x9e3779b97f4a7c15 mod 2^53)/2^53.',
        "Worked out by an evaluator of the RFC's pseudo-code that has nothing in common with this program.",
    ]

if __name__ == '__main__':
    for name, rate in (('time', False), ('rate', True)):
        r = random.Random(8033)
        pk = []
        load(r, pk, 1000000, 420 * MS, 700000, rate)
        load(r, pk, 520 * MS, 700 * MS, 600000, rate)
        run(PIE(5 * MS, 15 * MS, 60 * MS, rate, alpha=2, beta=20), pk, 12 * 10 ** 6, (0, 15 * MS))
        write('pie-' + name, pk, text('the departure rate (section 5.2)' if rate else 'time stamps (section 4.3)'))
        third = 'pie-third' + ('-rate' if rate else '')
        pk, head = again(third)
        run(PIE(5 * MS, 15 * MS, 30 * MS, rate, alpha=10, beta=100, room=24, third=8), pk, 12 * 10 ** 6, (0, 15 * MS))
        write(third, pk, head)
