# A link of rate bit/s behind a scheme; times are in integer ps.
import os
import random
import sys
from math import exp

def ftime(ps):
    return ('%d.%03d' % (ps // 10 ** 6, ps // 1000 % 1000)).rstrip('0') + 'us'

class Rng:
    def __init__(s, seed):
        s.r = random.Random(seed)

    def arrivals(s, n, gap, users, sizes=(64, 1514)):
        t = 0
        out = []
        for i in range(n):
            t += s.r.randrange(1, 2 * gap) * 10 ** 6
            at = t + 137000
            u = s.r.choices(range(len(users)), users)[0]
            out.append((at, u, s.r.randrange(*sizes), round(s.r.random(), 4)))
        return out

def run(arr, rate, scheme, header):
    """scheme: arrive(now,i,user,size,draw)->(decision text, evicted list), dequeue(now)->(i,size)|None, later"""
    lines = list(header)
    later = []
    order = []
    free = 0
    res = {}

    def serve(until, inclusive):
        nonlocal free
        while True:
            if free > until or (free == until and (not inclusive)):
                return
            x = scheme.dequeue(free, later)
            if x is None:
                return
            order.append(x[0])
            free += x[1] * 8 * 10 ** 12 // rate
    for i, (t, u, sz, dr) in enumerate(arr):
        serve(t, True)
        if free < t:
            free = t
        d, ev = scheme.arrive(t, i, u, sz, dr)
        for e in ev:
            later.append('later: %d evicted' % e)
        lines.append(('%s %d %d %s: %s' % (ftime(t), u, sz, repr(dr) if dr != int(dr) else str(int(dr)), d)).rstrip())
    serve(10 ** 18, True)
    lines += later
    lines.append('leave: ' + ' '.join(map(str, order)))
    return '\n'.join(lines) + '\n'

class Est:
    """CSFQ, equation (3)."""
    def __init__(s, K):
        s.K = K
        s.r = 0.0
        s.t = 0

    def upd(s, t, l):
        T = (t - s.t) / 1000000000000.0
        s.t = t
        s.r = s.r + l / s.K if T <= 0 else (1 - exp(-T / s.K)) * l / T + exp(-T / s.K) * s.r
        return s.r

    def now(s, t):
        return s.r * exp(-(t - s.t) / 1000000000000.0 / s.K)

def write(name, text):
    """Writes the transcript beside the script that is run."""
    with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name + '.txt'), 'w') as f:
        f.write(text)

def after(x, y):
    """Arrivals y a second after x."""
    return x + [(t + x[-1][0] - 137000 + 10 ** 6, u, z, d) for t, u, z, d in y]
