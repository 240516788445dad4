package ncf

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestOrigin_StoresHeadersForNack checks the fields for a NACK without a packet (BS'19 §4.3, BS'19 §4.4): the
// endpoints, and the sequence number and time stamp of a packet that the sender has sent.
func TestOrigin_StoresHeadersForNack(t *testing.T) {
	top := NewTop(2, 4)
	p := packet.Packet{Src: 1, Dst: 2, SrcPort: 3, DstPort: 4, Proto: packet.ProtoTCP, Version: 6, TOS: 7, Hash: 8,
		Flow: 9, Seq: 10, Ack: 11, Size: 1514, Payload: 1428,
		TCP: packet.Segment{TSVal: 12, TSEcho: 13, Flags: 16, Present: packet.HasTimestamps | packet.HasScale}}
	one := func(n uint32) *FlowEstimate {
		c := &FlowEstimate{Windows: 4}
		c.Flow[0] = n
		return c
	}
	o := top.OfferCounts(0, 77, one(1500))
	if o == nil {
		t.Fatal("no entry")
	}
	o.StoreHeaders(&p, 5)
	o.Notified, o.NotifiedAt = true, 99
	want := Origin{Key: 77, Count: 1500, Growth: 1500, Notified: true, NotifiedAt: 99, Src: 1, Dst: 2, Flow: 9, Hash: 8,
		SrcPort: 3, DstPort: 4, Out: 5, Proto: packet.ProtoTCP, Version: 6, TOS: 7,
		Seq: 10, Ack: 11, TSVal: 12, TSEcho: 13, Flags: 16, Has: packet.HasTimestamps, Headers: 86}
	if *o != want {
		t.Errorf("%+v\nwant %+v", *o, want)
	}
	o = top.OfferCounts(1, 77, one(3000)) // the last packet's headers, and when it was told, stay
	want.Count, want.LastWindow = 3000, 1
	if *o != want {
		t.Errorf("%+v\nwant %+v", *o, want)
	}
	top.OfferCounts(1, 78, one(4000))
	// in the place of 77
	if o = top.OfferCounts(1, 79, one(5000)); o == nil || *o != (Origin{Key: 79, Count: 5000, Growth: 5000,
		LastWindow: 1}) {
		t.Errorf("%+v", o)
	}
}

// TestTopDecays checks that counts decay as windows roll, the smallest leaves, and a flow that stopped n windows ago is
// stale.
func TestTopDecays(t *testing.T) {
	top := NewTop(2, 3)
	counts := func(flow ...uint32) *FlowEstimate { // the current window first
		c := &FlowEstimate{Windows: 3}
		copy(c.Flow[:], flow)
		return c
	}
	see := func(window uint32, want map[uint64]uint64) {
		t.Helper()
		got := map[uint64]uint64{}
		for i := range top.Len() {
			if top.IsFresh(i, window) {
				got[top.At(i).Key] = top.At(i).Count
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("window %d: %v, want %v", window, got, want)
		}
	}
	top.OfferCounts(10, 1, counts(5, 20, 30))
	top.OfferCounts(10, 2, counts(40, 0, 0))
	see(10, map[uint64]uint64{1: 55, 2: 40})
	if top.OfferCounts(10, 3, counts(40)) != nil || top.OfferCounts(10, 3, counts(0)) != nil {
		t.Error("the same as the smallest takes its place")
	}
	see(11, map[uint64]uint64{1: 25, 2: 40}) // 30 are older than 3 windows
	if o := top.OfferCounts(11, 3, counts(26)); o == nil {
		t.Error("more than the smallest, and not in")
	}
	see(11, map[uint64]uint64{2: 40, 3: 26})
	see(12, map[uint64]uint64{2: 40, 3: 26})
	see(13, map[uint64]uint64{3: 26}) // 2 sent in window 10 last
	if o := top.OfferCounts(13, 4, counts(1)); o == nil {
		t.Error("a stale entry keeps its place")
	}
	see(13, map[uint64]uint64{3: 26, 4: 1})
	see(1000, nil)
	top.OfferCounts(1000, 5, counts(7, 8, 9))
	see(1000, map[uint64]uint64{5: 24})
	see(1002, map[uint64]uint64{5: 7})
	// over the end of window numbers
	top.OfferCounts(1<<32-1, 6, counts(3, 2, 1))
	see(1<<32-1, map[uint64]uint64{6: 6})
	see(0, map[uint64]uint64{6: 5})
	see(1, map[uint64]uint64{6: 3})
	see(2, nil)
	// a flow without traffic is not heavy
	if NewTop(2, 3).OfferCounts(0, 1, counts()) != nil {
		t.Error("a flow without traffic is among the heaviest")
	}
}

// FuzzHeaviestFlows_MatchExactModel compares the table with a model that keeps all flows' counts by window, offered
// with each packet: it is the exact top N for any order.
func FuzzHeaviestFlows_MatchExactModel(f *testing.F) {
	f.Add(uint8(3), uint8(3), []byte{0, 1, 9, 0, 2, 8, 0, 3, 7, 0, 4, 6, 1, 1, 1, 2, 4, 9})
	f.Add(uint8(1), uint8(1), []byte{0, 1, 9, 0, 2, 10, 9, 2, 1})
	f.Fuzz(func(t *testing.T, entries, windows uint8, ops []byte) {
		n, w := int(entries)%24+1, int(windows)%MaxWindows+1
		top := NewTop(n, w)
		all := map[uint64]map[uint32]uint64{} // flow, window
		now := uint32(1<<32 - 9)
		worth := func(key uint64) (sum uint64) {
			for j := range uint32(w) {
				sum += all[key][now-j]
			}
			return sum
		}
		for ; len(ops) >= 3; ops = ops[3:] {
			if gap := ops[0]; gap > 200 {
				now += uint32(gap - 200)
			}
			key := uint64(ops[1])
			if all[key] == nil {
				all[key] = map[uint32]uint64{}
			}
			all[key][now] += uint64(ops[2]) + 1
			c := &FlowEstimate{Windows: w}
			for j := range uint32(w) {
				c.Flow[j] = uint32(all[key][now-j])
			}
			in := top.OfferCounts(now, key, c) != nil
			var least uint64 = 1<<64 - 1
			held := map[uint64]bool{}
			for i := range top.Len() {
				o := top.At(i)
				if held[o.Key] {
					t.Fatalf("flow %d is there twice", o.Key)
				}
				held[o.Key] = true
				if o.Count != worth(o.Key) {
					t.Fatalf("flow %d has %d, exact %d", o.Key, o.Count, worth(o.Key))
				}
				least = min(least, o.Count)
			}
			if in != held[key] {
				t.Fatalf("flow %d: told %v", key, in)
			}
			if !in && (top.Len() < n || worth(key) > least) {
				t.Fatalf("flow %d with %d is not there, but one with %d", key, worth(key), least)
			}
		}
	})
}

// TestTopRecall compares with the exact N heaviest of the last n·d, behind a sketch, at the end of each window. The
// traffic is Zipf's, web search, and Zipf's with flows that are all new in every window (churn), every second, or
// drift.
func TestTopRecall(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "%-22s %8s %8s %12s\n", "traffic", "recall", "worst", "of the bytes")
	for _, load := range []struct {
		name  string
		make  func() traffic
		shift func(w int) uint64
		floor float64
	}{
		{"zipf 1.1", func() traffic { return zipf(1.1) }, func(int) uint64 { return 0 }, 0.97},
		{"zipf 1.5", func() traffic { return zipf(1.5) }, func(int) uint64 { return 0 }, 0.97},
		{"websearch", websearch, func(int) uint64 { return 0 }, 0.85},
		{"zipf 1.1, new each", func() traffic { return zipf(1.1) }, func(w int) uint64 { return uint64(w) << 32 }, 0.9},
		{"zipf 1.1, new each 2nd", func() traffic { return zipf(1.1) }, func(w int) uint64 { return uint64(w/2) << 32 }, 0.9},
		{"zipf 1.1, drifting", func() traffic { return zipf(1.1) }, func(w int) uint64 { return uint64(w) }, 0.95},
	} {
		mean, worst, bytes := topRecall(t, load.make(), load.shift)
		if mean < load.floor {
			t.Errorf("recall %.3f", mean)
		}
		fmt.Fprintf(&table, "%-22s %7.2f%% %7.2f%% %11.2f%%\n", load.name, 100*mean, 100*worst, 100*bytes)
	}
	testkit.Golden(t, "top_recall.txt", table.String())
}

// topRecall gives a table of the heaviest flows traffic with keys that shift by window. It returns the mean and the
// worst share of the heaviest flows that it has at the ends of windows, and its share of their bytes.
func topRecall(t *testing.T, give traffic, shift func(w int) uint64) (mean, worst, bytes float64) {
	const n, windows, rounds = 20, 4, 24
	width, depth := Dimensions(0.001, 0.01)
	s := NewSketch(SketchConfig{Windows: windows, Duration: 10 * milli, Width: width, Depth: depth, Bits: 32, Seed: 3})
	top, r := NewTop(n, windows), rand.New(rand.NewPCG(5, 6))
	history := make([]map[uint64]uint64, rounds)
	var sum, exactBytes float64
	worst = 1
	samples := 0
	for w := range rounds {
		history[w] = map[uint64]uint64{}
		i := 0
		give(r, func(key uint64, size int32) {
			key += shift(w)
			history[w][key] += uint64(size)
			now := unit.Time(w)*10*milli + unit.Time(i)*400*unit.Nanosecond
			i++
			c := s.Count(now, key, size)
			if o := top.OfferCounts(s.Window(), key, c); o != nil && o.Key != key {
				t.Fatalf("flow %d has the entry of %d", key, o.Key)
			}
		})
		if w < windows {
			continue
		}
		keys, exact := heaviestOf(history[w-windows+1:w+1], n)
		smallest := exact[keys[len(keys)-1]]
		found := 0
		for i := range top.Len() {
			if !top.IsFresh(i, s.Window()) {
				continue
			}
			size := exact[top.At(i).Key]
			bytes += float64(size)
			if size >= smallest { // several may have the smallest's count
				found++
			}
		}
		for _, key := range keys {
			exactBytes += float64(exact[key])
		}
		recall := min(float64(found)/float64(len(keys)), 1)
		sum, worst, samples = sum+recall, min(worst, recall), samples+1
	}
	return sum / float64(samples), worst, bytes / exactBytes
}

// heaviestOf returns the n heaviest flows of some windows, and all flows' bytes.
func heaviestOf(windows []map[uint64]uint64, n int) (keys []uint64, exact map[uint64]uint64) {
	exact = map[uint64]uint64{}
	for _, past := range windows {
		for key, size := range past {
			exact[key] += size
		}
	}
	for key, size := range exact {
		i := len(keys) // of the key, if it is among the heaviest
		for i > 0 && cmp.Or(cmp.Compare(exact[keys[i-1]], size), cmp.Compare(key, keys[i-1])) < 0 {
			i--
		}
		if i < n {
			keys = slices.Insert(keys, i, key)[:min(n, len(keys)+1)]
		}
	}
	return keys, exact
}

func BenchmarkTop(b *testing.B) {
	for _, n := range []int{20, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			top := NewTop(n, 4)
			z := rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.1, 1, 99_999)
			keys, counts := make([]uint64, 1<<16), map[uint64]uint32{}
			flows := make([]uint32, 1<<16)
			for i := range keys {
				keys[i] = z.Uint64()
				counts[keys[i]]++
				flows[i] = counts[keys[i]]
			}
			c := &FlowEstimate{Windows: 4}
			b.ReportAllocs()
			for i := range b.N {
				k := i & (1<<16 - 1)
				c.Flow[0] = flows[k]
				top.OfferCounts(uint32(i>>16), keys[k], c)
			}
		})
	}
}
