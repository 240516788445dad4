# CAKE (Høiland-Jørgensen, Täht, Morton 2018 §III; tc-cake and the kernel's sch_cake.c for the order of steps): one tin,
# besteffort, with dual-srchost: flow queues that are sparse, busy or decaying, quanta divided by the busy flows of
# the host, and COBALT (CoDel beside BLUE) on each. Three choices are not CAKE's: BLUE's draws, no collisions of
# hashes, and what division by the busy flows leaves over is kept for the next turn (sch_cake.c rounds it by chance).
# Times are in ps.
# Has nothing of this program. Writes the transcript beside it: python3 core/dataplane/tm/testdata/cake.py
import math
import os
import sys
from collections import deque

US = 10 ** 6
LONG_AGO = -10 ** 15
FRAME = 1514

class SplitMix64:
    """The stream that BLUE draws from."""
    MASK = 2 ** 64 - 1

    def __init__(s, seed):
        s.state = seed

    def draw(s):
        s.state = s.state + 0x9e3779b97f4a7c15 & s.MASK
        z = s.state
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & s.MASK
        z = (z ^ z >> 27) * 0x94d049bb133111eb & s.MASK
        return (z ^ z >> 31) >> 32

class Queue:
    """A flow's packets, and COBALT's state for them."""
    UP, DOWN, MOST = 1 << 24, 1 << 20, 2 ** 32 - 1

    def __init__(s, link, host):
        s.link, s.host = link, host
        s.packets, s.bytes = deque(), 0
        s.rotation = None  # one of new, bulk, waiting (with the busy ones but empty), decaying
        s.deficit, s.fraction = 0, 0
        s.count, s.drop_next, s.dropping = 0, LONG_AGO, False
        s.p_drop, s.blue_timer = 0, LONG_AGO

    def control(s, t):
        """CoDel's next time after t."""
        return t + int(s.link.interval / math.sqrt(s.count) if s.count > 1 else s.link.interval)

    def full(s, now):
        """One of its packets gave way for want of room."""
        if now - s.blue_timer > s.link.target:
            s.p_drop, s.blue_timer = min(s.p_drop + s.UP, s.MOST), now
        s.dropping, s.drop_next, s.count = True, now, max(1, s.count)

    def empty(s, now):
        """It had its turn and no packets."""
        if s.p_drop and now - s.blue_timer > s.link.target:
            s.p_drop, s.blue_timer = max(0, s.p_drop - s.DOWN), now
        s.dropping = False
        if s.count and now >= s.drop_next:
            s.count -= 1
            s.drop_next = s.control(s.drop_next)

    def should_drop(s, now, sojourn, capable):
        mark = drop = False
        schedule = now - s.drop_next
        due = s.count > 0 and schedule >= 0
        if sojourn > s.link.target and sojourn > 4 * s.link.frame:
            if not s.dropping:
                s.dropping, s.drop_next = True, s.control(now)
            s.count = max(1, s.count)
        else:
            s.dropping = False
        if due and s.dropping:
            mark, drop = capable, not capable
            s.link.seen['codel'] += 1
            s.count += 1
            s.drop_next = s.control(s.drop_next)
            schedule = now - s.drop_next
        else:
            while due:
                s.count -= 1
                s.drop_next = s.control(s.drop_next)
                schedule = now - s.drop_next
                due = s.count > 0 and schedule >= 0
        if s.p_drop and s.link.random.draw() < s.p_drop:
            s.link.seen['blue'] += 1
            drop = True
        if not s.count:
            s.drop_next = now + s.link.interval
        elif schedule > 0 and not drop:
            s.drop_next = now
        return mark, drop

class Cake:
    """A link behind CAKE. Packets are (arrival, host, flow, ECN field, bytes)."""

    def __init__(s, rate, limit, target, interval):
        s.rate, s.limit, s.frame = rate, limit, s.takes(FRAME, rate)
        s.target = max(target, s.frame * 3 // 2)
        s.interval = max(interval + s.target - target, 2 * s.target)
        s.quantum = max(300, min(rate // 8 // 4096, FRAME))
        s.random = SplitMix64(0)
        s.queues = {}  # by host and flow
        s.bulk = {}  # busy flows by host
        s.new, s.old, s.decaying = [], [], []
        s.waiting = 0
        s.out = {}
        s.seen = {'codel': 0, 'blue': 0, 'overflow': 0}

    def takes(s, size, rate=None):
        return size * 8 * 10 ** 12 // (rate or s.rate)

    def move(s, q, rotation, to):
        for r in (s.new, s.old, s.decaying):
            if q in r:
                r.remove(q)
        q.rotation = rotation
        if to is not None:
            to.append(q)

    def becomes_bulk(s, q):
        q.rotation = 'bulk'
        s.bulk[q.host] = s.bulk.get(q.host, 0) + 1

    def load(s, q):
        return max(1, s.bulk.get(q.host, 0))

    def enqueue(s, now, n, host, flow, ecn, size):
        q = s.queues.setdefault((host, flow), Queue(s, host))
        q.packets.append((n, now, ecn, size))
        q.bytes += size
        s.waiting += 1
        if q.rotation in (None, 'decaying'):
            s.move(q, 'new', s.new)
            q.deficit = s.quantum // s.load(q)
        elif q.rotation == 'waiting':
            s.becomes_bulk(q)
        while s.waiting > s.limit:
            most = max(x.bytes for x in s.queues.values())
            fattest = [x for x in s.queues.values() if x.bytes == most]
            assert len(fattest) == 1 or q in fattest, 'a tie that nothing decides'
            v = q if q in fattest else fattest[0]
            v.full(now)
            s.out[s.pop(v)[0]] = ('dropped', now)
            s.seen['overflow'] += 1

    def pop(s, q):
        p = q.packets.popleft()
        q.bytes -= p[3]
        s.waiting -= 1
        return p

    def dequeue(s, now):
        """When the packet that leaves now has left; None without packets."""
        first = True
        while s.waiting:
            q = (s.decaying if first and s.decaying else s.new or s.old or s.decaying)[0]
            first = False
            if q.deficit <= 0:
                s.again(q)
                continue
            while q.packets:
                n, arrived, ecn, size = s.pop(q)
                mark, drop = q.should_drop(now, now - arrived, ecn != 0)
                if drop and q.packets:  # the last packet of a queue is never dropped
                    s.out[n] = ('dropped', now)
                    continue
                q.deficit -= size
                s.out[n] = ('marked' if mark and ecn != 3 else 'sent', now + s.takes(size))
                return now + s.takes(size)
            s.emptied(q, now)
        return None

    def again(s, q):
        """Its deficit is used up: to the end of the busy ones."""
        if q.rotation == 'new':
            q.rotation = 'waiting'
            if q.packets:
                s.becomes_bulk(q)
        earned = (s.quantum << 16) // s.load(q) + q.fraction
        q.deficit += earned >> 16
        q.fraction = earned & 0xffff
        s.move(q, q.rotation, s.old)

    def emptied(s, q, now):
        q.empty(now)
        if q.rotation == 'bulk':
            s.bulk[q.host] -= 1
        if q.p_drop or q.count or now < q.drop_next:
            s.move(q, 'decaying', s.decaying)
        else:
            s.move(q, None, None)

    def run(s, arrivals):
        free = i = 0
        while i < len(arrivals) or s.waiting:
            if s.waiting and (i >= len(arrivals) or free <= arrivals[i][0]):
                free = s.dequeue(free) or free
                continue
            now = arrivals[i][0]
            s.enqueue(now, i, *arrivals[i][1:])
            i += 1
            if now >= free:
                free = s.dequeue(now)
        return s.out

arrivals = []

def flow(start, count, gap, host, number, ecn, size):
    """Times are in ns; each flow has microseconds of its own, so that no two packets come together."""
    for k in range(count):
        arrivals.append(((start + k * gap) * 1000 + (host * 7 + number) * 1000, host, number, ecn, size))

for f, size in enumerate((1499, 1399, 1303, 701)):  # host 0
    flow(1000_013 + f * 11_000, 18, 2_300_001 + f * 97_003, 0, f, 0, size)
flow(1_050_003, 36, 1_100_007, 1, 0, 2, 1483)  # host 1: its packets can be marked
flow(1_500_001, 22, 4_777_003, 2, 0, 0, 199)  # host 2, light
flow(30_000_511, 110, 450_017, 2, 5, 0, 997)  # overruns the limit
for f, size in enumerate((1499, 1399)):  # after silence: some flows are still remembered
    flow(190_000_013 + f * 11_000, 10, 1_300_001 + f * 97_003, 0, f, 0, size)
flow(191_050_003, 12, 600_007, 2, 5, 0, 997)
flow(260_050_003, 8, 2_600_007, 2, 5, 0, 997)
flow(255_050_003, 30, 600_007, 1, 0, 2, 907)
arrivals.sort()
assert len({a[0] for a in arrivals}) == len(arrivals)

def us(t):
    ns = (t + 500) // 1000
    return ('%d.%03d' % (ns // 1000, ns % 1000)).rstrip('0').rstrip('.') + 'us'

cake = Cake(12 * 10 ** 6, 40, 2000 * US, 20000 * US)
out = cake.run(arrivals)
HEAD = """\
# CAKE with dual-srchost at 12 Mb/s: target 2 ms, interval 20 ms, quantum 366 bytes (the rate's), at most 40 packets,
# large frames of 1514 bytes. Host 0 has four flows, host 1 one whose packets can be marked, host 2 a light one and one
# that overruns the limit and comes back after silence. BLUE draws from SplitMix64, seed 0, upper 32 bits.
# Worked out by an evaluator of the documented behaviour that has nothing in common with this program.
# arrival, port, flow, ECN field, bytes: what becomes of it, and when (sent: its last bit)
"""
with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), 'cake.txt'), 'w') as file:
    file.write(HEAD)
    for i, a in enumerate(arrivals):
        file.write('%s %d %d %d %d: %s %s\n' % (us(a[0]), *a[1:], out[i][0], us(out[i][1])))
outcomes = [x for x, _ in out.values()]
print('cake', {x: outcomes.count(x) for x in sorted(set(outcomes))}, cake.seen)
