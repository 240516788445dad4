package tm

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// model is the naive form of a fair queue: a slice of packets for each flow, and slices of flows.
type model struct {
	c          FQ
	of         func(hash uint32) int32
	lists      map[int32][]*packet.Packet
	credit     map[int32]int32
	fresh, old []int32
	count      int
}

func (m *model) bytes(i int32) (n int64) {
	for _, p := range m.lists[i] {
		n += int64(p.Size)
	}
	return n
}

func (m *model) push(p *packet.Packet) {
	i := m.of(p.Hash)
	m.lists[i] = append(m.lists[i], p)
	m.count++
	if !slices.Contains(m.fresh, i) && !slices.Contains(m.old, i) {
		m.credit[i] = int32(m.c.Quantum)
		if m.c.NewFirst {
			m.fresh = append(m.fresh, i)
		} else {
			m.old = append(m.old, i)
		}
	}
}

func (m *model) gone() {
	if m.count--; m.count == 0 {
		m.fresh, m.old = nil, nil
	}
}

func (m *model) pop() *packet.Packet {
	for m.count > 0 {
		new := len(m.fresh) > 0
		r := &m.old
		if new {
			r = &m.fresh
		}
		i := (*r)[0]
		switch {
		case m.credit[i] <= 0:
			*r = (*r)[1:]
			m.credit[i] += int32(m.c.Quantum)
			m.old = append(m.old, i)
		case len(m.lists[i]) == 0:
			*r = (*r)[1:]
			if new && len(m.old) > 0 {
				m.old = append(m.old, i)
			}
		default:
			p := m.lists[i][0]
			m.lists[i] = m.lists[i][1:]
			m.credit[i] -= p.Size
			m.gone()
			return p
		}
	}
	return nil
}

// remove removes x, which the port has evicted. It returns an error unless x is the first or last packet, by
// configuration, of a longest list. comes is the arriving packet, which counts for its list, or nil.
func (m *model) remove(x, comes *packet.Packet) error {
	longest, own := int64(0), int32(-1)
	if comes != nil {
		own = m.of(comes.Hash)
	}
	length := func(i int32) int64 {
		if n := m.bytes(i); i != own {
			return n
		} else {
			return n + int64(comes.Size)
		}
	}
	for i := range m.lists {
		longest = max(longest, length(i))
	}
	i := m.of(x.Hash)
	l := m.lists[i]
	if length(i) != longest {
		return fmt.Errorf("a packet of a flow of %d bytes goes, the longest has %d", length(i), longest)
	}
	if at := slices.Index(l, x); m.c.FromHead && at == 0 || !m.c.FromHead && at == len(l)-1 {
		m.lists[i] = slices.Delete(slices.Clone(l), at, at+1)
	} else {
		return fmt.Errorf("packet %d of %d goes", at, len(l))
	}
	m.gone()
	return nil
}

// script applies steps of two bytes each to a port and to the model, and compares them after each step.
func script(t *testing.T, c FQ, limit Limit, steps []byte) {
	p := fairPort(t, 1, Limit{}, limit, c)
	f := p.queues[0].flows
	m := &model{c: c, of: func(h uint32) int32 { return f.listOf(&packet.Packet{Hash: h}) },
		lists: map[int32][]*packet.Packet{}, credit: map[int32]int32{}}
	last := map[uint32]int64{}
	for n := 0; n+1 < len(steps); n += 2 {
		what, arg := steps[n], steps[n+1]
		switch {
		case what < 140:
			x := &packet.Packet{Hash: uint32(arg % 11), Size: 40 + 12*int32(what), Seq: int64(n)}
			entered := true
			for why := p.Fits(0, x.Size); why != Fits && entered; why = p.Fits(0, x.Size) {
				y := p.MakeRoom(0, x, why)
				if entered = y != nil; entered {
					if err := m.remove(y, x); err != nil {
						t.Fatalf("step %d: %v", n, err)
					}
				} else if own := m.of(x.Hash); !c.FromHead || len(m.lists[own]) == 0 {
					for i := range m.lists {
						if m.bytes(i) > m.bytes(own)+int64(x.Size) {
							t.Fatalf("step %d: the packet goes that comes, and its flow is not the longest", n)
						}
					}
				} else {
					t.Fatalf("step %d: nothing gives way", n)
				}
			}
			if entered {
				p.Push(0, x)
				m.push(x)
			}
		case what < 250:
			head := p.Queue(0).Head()
			x, _, _ := p.DequeueNext(unit.Time(n))
			if want := m.pop(); x != want || head != want {
				t.Fatalf("step %d: %+v leaves, %+v is the head, want %+v", n, x, head, want)
			}
			if x != nil {
				if seq, there := last[x.Hash]; there && seq > x.Seq {
					t.Fatalf("step %d: packet %d of a flow leaves after %d", n, x.Seq, seq)
				}
				last[x.Hash] = x.Seq
			}
		default:
			x := p.PopTail(0)
			if (x == nil) != (m.count == 0) {
				t.Fatalf("step %d: evicted %+v of %d", n, x, m.count)
			}
			if x != nil {
				if err := m.remove(x, nil); err != nil {
					t.Fatalf("step %d: %v", n, err)
				}
			}
		}
		bytes, count := int64(0), 0
		for x := range p.Queue(0).All() {
			bytes += int64(x.Size)
			count++
		}
		if count != m.count || int(p.Packets()) != count || int64(p.Bytes()) != bytes ||
			p.WaitingQueues() != uint32(min(count, 1)) {
			t.Fatalf("step %d: %d packets wait, %d can be seen, %d bytes of %d; the model has %d", n, p.Packets(), count,
				p.Bytes(), bytes, m.count)
		}
	}
}

func settings(mode uint8) (FQ, Limit) {
	c := FQ{Flows: []int{1, 4, 64, 1024}[mode&3], Quantum: []unit.Bytes{1514, 100}[mode>>2&1], NewFirst: mode>>3&1 == 1,
		FromHead: mode>>4&1 == 1, Seed: uint32(mode)}
	return c, []Limit{{}, {Packets: 9}, {Bytes: 6000}, {Packets: 40, Bytes: 20000}}[mode>>5&3]
}

// TestFQModel checks that the port does what the naive model does, packet by packet, and that no flow is reordered.
func TestFQModel(t *testing.T) {
	for mode := range uint8(128) {
		c, limit := settings(mode)
		random := unit.NewRandom(uint64(mode), "fq")
		steps := make([]byte, 3000)
		for i := range steps {
			steps[i] = byte(random.Uint64())
		}
		script(t, c, limit, steps)
	}
}

func FuzzFQ_MatchesModel(f *testing.F) {
	f.Add(uint8(0x2e), []byte{100, 1, 100, 2, 20, 1, 200, 0, 255, 0, 30, 3, 200, 0})
	f.Add(uint8(0x7f), []byte{139, 1, 139, 1, 139, 1, 139, 1, 139, 2, 200, 0, 139, 1, 139, 3, 139, 4})
	f.Fuzz(func(t *testing.T, mode uint8, steps []byte) {
		if len(steps) > 4000 {
			return
		}
		c, limit := settings(mode)
		script(t, c, limit, steps)
	})
}
