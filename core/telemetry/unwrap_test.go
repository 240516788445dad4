package telemetry

import (
	"math/rand/v2"
	"testing"

	"weir/core/unit"
)

// orders returns functions, by name, that give the path of each record.
func orders(paths int) map[string]func(i int) uint32 {
	random, turn := rand.New(rand.NewPCG(5, 6)), rand.New(rand.NewPCG(7, 8)).Perm(paths)
	return map[string]func(i int) uint32{
		"in turn":   func(i int) uint32 { return uint32(i % paths) },
		"at random": func(int) uint32 { return uint32(random.IntN(paths)) },
		"permuted": func(i int) uint32 {
			if i%paths == 0 {
				random.Shuffle(paths, func(a, b int) { turn[a], turn[b] = turn[b], turn[a] })
			}
			return uint32(turn[i%paths])
		},
	}
}

// TestMorePathsThanRoom checks that of more paths than there is room for, a sample is followed for long enough that its
// records can be compared. At least half of its share can be, for any order of the paths.
func TestMorePathsThanRoom(t *testing.T) {
	for _, paths := range []int{65, 80, 256, 1024} {
		for _, order := range []string{"in turn", "at random", "permuted"} {
			t.Run(order, func(t *testing.T) {
				u, path, compared := Unwrapper{}, orders(paths)[order], 0
				const records = 50_000
				for i := range records {
					now, id := unit.Time(i)*80*ns, path(i)
					var r Records
					r.Append(&Hop{Time: now, TxBytes: uint64(i) << 7, Rate: 100 * unit.Gbps, Switch: id})
					if u.Unwrap(now, &r) && r.At(0).Flags&Restart == 0 {
						compared++
					}
				}
				if want := records * MaxPaths / paths / 2; compared < want {
					t.Errorf("of %d records of %d paths %d can be compared, want %d", records, paths, compared, want)
				}
				if n := 1 + len(u.more); n != MaxPaths {
					t.Errorf("%d paths are followed, want %d", n, MaxPaths)
				}
			})
		}
	}
}

// TestPathsThatAreGone checks that a flow that leaves all of its paths is followed on its new one after as many records
// as it had paths before. Until then, a rival of an old path may return. With many new paths, it takes one place after
// the other, each within four rounds.
func TestPathsThatAreGone(t *testing.T) {
	for _, c := range []struct {
		name           string
		paths, records int
	}{{"one new path", 1, 2*MaxPaths + 3}, {"two", 2, 2*MaxPaths + 12}, {"a hundred", 100, 4 * 100 * MaxPaths}} {
		t.Run(c.name, func(t *testing.T) {
			var u Unwrapper
			now, last := unit.Time(0), false
			see := func(id int) {
				now += us
				var r Records
				r.Append(&Hop{Time: now, Rate: 100 * unit.Gbps, Switch: uint32(id), Port: uint16(id)})
				last = u.Unwrap(now, &r) && r.At(0).Flags&Restart == 0
			}
			for i := range 20 * MaxPaths { // with a rival that is gone, too
				see(i % (2 * MaxPaths))
			}
			for i := range c.records {
				see(10_000 + i%c.paths)
			}
			if c.paths < MaxPaths && !last {
				t.Errorf("after %d records it is not followed", c.records)
			}
			old := 0
			for k := range MaxPaths {
				if k == 0 && u.first.hops[0].id < 10_000 || k > 0 && u.more[k-1].hops[0].id < 10_000 {
					old++
				}
			}
			if want := MaxPaths - min(c.paths, MaxPaths); old > want {
				t.Errorf("%d places are kept for paths that are gone, want %d", old, want)
			}
		})
	}
}

// TestPathsByPorts checks that where a format has switches and ports, two paths by the same switches are two, with
// different counters.
func TestPathsByPorts(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags uint8
		want  bool // the second record is a first one
	}{{"with ports", 0, true}, {"without", NoSwitch, false}} {
		t.Run(c.name, func(t *testing.T) {
			var u Unwrapper
			for port := range uint16(2) {
				var r Records
				r.Append(&Hop{Time: unit.Time(1+port) * us, Rate: unit.Gbps, Port: port, Flags: c.flags})
				u.Unwrap(unit.Time(port)*us, &r)
				if got := r.At(0).Flags&Restart != 0; port == 1 && got != c.want {
					t.Errorf("first record of another port: %v, want %v", got, c.want)
				}
			}
		})
	}
}

// TestFollowedPathsStay checks that a path is forgotten only for another one that was seen twice since the path was
// seen itself. With one path more than there is room for, and all in turn, the followed ones stay, and each of their
// records can be compared.
func TestFollowedPathsStay(t *testing.T) {
	var u Unwrapper
	for i := range 20 * (MaxPaths + 1) {
		now, id := unit.Time(i)*us, uint32(i%(MaxPaths+1))
		var r Records
		r.Append(&Hop{Time: now, Rate: unit.Gbps, Switch: id})
		follows := u.Unwrap(now, &r)
		if first := i <= MaxPaths; follows != (id < MaxPaths) || !first && follows && r.At(0).Flags&Restart != 0 {
			t.Fatalf("record %d, of path %d: followed %v, flags %b", i, id, follows, r.At(0).Flags)
		}
	}
}
