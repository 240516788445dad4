# A link behind a queue discipline. Times are integers in nanoseconds.
import os
import random
import sys

class Pkt:
    def __init__(s, n, at, src, flow, ecn, size):
        s.n, s.at, s.src, s.flow, s.ecn, s.size = (n, at, src, flow, ecn, size)
        s.marked = False
        s.out = None

def run(disc, pkts, rate, timer=None):
    """disc: enqueue(p, now) -> bool or str reason, dequeue(now, drop) -> p or None, timer(now) -> next"""
    free, busy, i = (0, False, 0)
    nxt = timer[0] if timer else None

    def drop(p, now):
        p.out = ('dropped', now)

    def send(now):
        nonlocal free, busy
        p = disc.dequeue(now, drop)
        if p is None:
            busy = False
            return
        assert p.size * 8 * 10 ** 9 % rate == 0
        free = now + p.size * 8 * 10 ** 9 // rate
        busy = True
        p.out = ('marked' if p.marked else 'sent', free)
    while True:
        c = []
        if busy:
            c.append((free, 0))
        if i < len(pkts):
            c.append((pkts[i].at, 1))
        if not c:
            break
        if nxt is not None:
            c.append((nxt, 2))
        t, what = min(c)
        if what == 0:
            send(t)
        elif what == 1:
            p = pkts[i]
            i += 1
            if not disc.enqueue(p, t):
                p.out = ('dropped', t)
            if not busy:
                send(t)
        else:
            disc.timer(t)
            nxt = t + timer[1]

def us(t):
    s = '%d.%03d' % (t // 1000, t % 1000)
    return s.rstrip('0').rstrip('.') + 'us'

def show(pkts, head):
    out = ['# ' + l for l in head]
    for p in pkts:
        out.append('%s %d %d %d %d: %s %s' % (us(p.at), p.src, p.flow, p.ecn, p.size, p.out[0], us(p.out[1])))
    return '\n'.join(out) + '\n'

class Weyl:
    def __init__(s):
        s.k = 0

    def u(s):
        s.k = (s.k + 11400714819323198485) % 2 ** 64
        return (s.k & 2 ** 53 - 1) / 2 ** 53

def write(name, pkts, head):
    """Writes the transcript beside the script that is run."""
    with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name + '.txt'), 'w') as f:
        f.write(show(pkts, head + [LAST]))
    outcomes = [p.out[0] for p in pkts]
    print(name, {x: outcomes.count(x) for x in sorted(set(outcomes))})
LAST = 'arrival, port, flow, ECN field, bytes: what becomes of it, and when (sent: its last bit)'

def load(r, pk, t, until, gap, ecn, sizes=(1500, 1500, 750)):
    """Packets every gap or so; the time of the last one."""
    while t < until:
        t += r.randint(gap // 2, gap * 3 // 2)
        pk.append(Pkt(len(pk), t, 0, 0, r.choice([0, 2]) if ecn else 0, r.choice(sizes)))
    return t

def again(name):
    """The arrivals of a transcript, and what is said of them."""
    pk, head = ([], [])
    with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name + '.txt')) as f:
        for line in f:
            if line.startswith('# '):
                head.append(line[2:].rstrip())
                continue
            at, src, flow, ecn, size = line.split(':')[0].split()
            whole, _, part = at.removesuffix('us').partition('.')
            t = int(whole) * 1000 + int(part.ljust(3, '0'))
            pk.append(Pkt(len(pk), t, int(src), int(flow), int(ecn), int(size)))
    return (pk, head[:-1])
