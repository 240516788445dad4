package simfiles

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/internal/testkit"
)

// rounding is the tolerance of times and ratios.
var rounding = testkit.Tolerance{Absolute: 1e-9}

// TestReadConfig_ReadsEveryKey checks that every key of the HPCC simulator's config.txt is read and written. The sample
// has each once.
func TestReadConfig_ReadsEveryKey(t *testing.T) {
	data, err := os.ReadFile("testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadConfig(bytes.NewReader(data), "config.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys {
		if c.Get(k.Name) == nil {
			t.Errorf("the sample has no %s", k.Name)
		}
	}
	for key, want := range map[string]Setting{
		"CC_MODE":       {Number: 3},
		"EWMA_GAIN":     {Number: 1. / 256},
		"RATE_AI":       {Rate: 50 * unit.Mbps},
		"LINK_DELAY":    {Time: unit.Microsecond},
		"RP_TIMER":      {Time: 300 * unit.Microsecond},
		"QLEN_MON_END":  {Time: 2010 * unit.Millisecond},
		"TOPOLOGY_FILE": {Text: "mix/topology.txt"},
		"LINK_DOWN":     {Time: 500 * unit.Microsecond, Ends: [2]int{4, 6}},
		"KMIN_MAP":      {Map: []RateValue{{100 * unit.Gbps, 400}, {400 * unit.Gbps, 1600}}},
	} {
		t.Run(key, func(t *testing.T) {
			got := *c.Get(key)
			want.Key, want.Line, want.Column = key, got.Line, got.Column
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, not %+v", key, got, want)
			}
		})
	}
	if s := c.Get("SIMULATOR_STOP_TIME"); s.Time != 2010*unit.Millisecond || s.Line != 16 || s.Column != 21 {
		t.Errorf("%+v", s)
	}
	same(t, data, func(r io.Reader) (any, error) { return ReadConfig(r, "f") }, func(w io.Writer, v any) error {
		return placeless(v.(Config)).write(w)
	})
}

// placeless removes the places of settings.
func placeless(c Config) Config {
	for i := range c {
		c[i].Line, c[i].Column = 0, 0
	}
	return c
}

// same checks that what is read is the same after writing and reading.
func same(t *testing.T, data []byte, read func(r io.Reader) (any, error), write func(w io.Writer, v any) error) {
	t.Helper()
	v, err := read(bytes.NewReader(data))
	if err != nil {
		var e *FormatError
		if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Msg == "" {
			t.Fatalf("%#v", err)
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; e.Line > lines {
			t.Fatalf("%v, of %d lines", err, lines)
		}
		return
	}
	var b bytes.Buffer
	if err := write(&b, v); err != nil {
		t.Fatal(err)
	}
	again, err := read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	if c, ok := again.(Config); ok {
		again = placeless(c)
	}
	if c, ok := v.(Config); ok {
		v = placeless(c)
	}
	if !reflect.DeepEqual(v, again) {
		t.Fatalf("%+v\nis written as\n%s\nand read as\n%+v", v, b.Bytes(), again)
	}
}

func FuzzReadConfig(f *testing.F) {
	data, _ := os.ReadFile("testdata/config.txt")
	f.Add(data)
	f.Add([]byte("LINK_DOWN 0.5 0 1\nKMAX_MAP 0\nDATA_RATE 1500Mbps\nEWMA_GAIN 1e-3\nRATE_AI 1.5kb/s"))
	f.Fuzz(func(t *testing.T, data []byte) {
		same(t, data, func(r io.Reader) (any, error) { return ReadConfig(r, "f") }, func(w io.Writer, v any) error {
			return v.(Config).write(w)
		})
	})
}

func FuzzReadNodes(f *testing.F) {
	f.Add([]byte("3\n0 1 2\n"))
	f.Add([]byte("2 7\n\n65535"))
	f.Fuzz(func(t *testing.T, data []byte) {
		same(t, data, func(r io.Reader) (any, error) { return ReadNodes(r, "f") }, func(w io.Writer, v any) error {
			return writeNodes(w, v.([]int))
		})
	})
}

func FuzzReadFCT(f *testing.F) {
	f.Add([]byte("0b000001 0b000101 10000 100 200000000 2000000000 16780000 16777000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		same(t, data, func(r io.Reader) (any, error) { return ReadFCT(r, "f") }, func(w io.Writer, v any) error {
			return WriteFCT(w, v.([]FCT))
		})
	})
}

func FuzzReadPFC(f *testing.F) {
	f.Add([]byte("2000055540 338 1 4 1\n2000057540 12 0 1 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		same(t, data, func(r io.Reader) (any, error) { return ReadPFC(r, "f") }, func(w io.Writer, v any) error {
			return WritePFC(w, v.([]PFC))
		})
	})
}

func FuzzReadQueues(f *testing.F) {
	f.Add([]byte("time: 2100000000\n320 1 5 0 2 \n320 2 7\ntime: 2200000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		same(t, data, func(r io.Reader) (any, error) { return ReadQueues(r, "f") }, func(w io.Writer, v any) error {
			return WriteQueues(w, v.([]Queues))
		})
	})
}

// TestAddressOf_IsInverseOfAddrNode follows HPCC simulator: 0x0b000001 + (n/256)·0x10000 + (n%256)·0x100.
func TestAddressOf_IsInverseOfAddrNode(t *testing.T) {
	for node, want := range map[int]uint32{0: 0x0b000001, 1: 0x0b000101, 209: 0x0b00d101, 256: 0x0b010001, 375: 0x0b017701,
		65535: 0x0bffff01} {
		t.Run(fmt.Sprint("node ", node), func(t *testing.T) {
			if got := addressOf(node); got != want {
				t.Errorf("node %d: %08x, not %08x", node, got, want)
			}
			if n, ok := addrNode(want); n != node || !ok {
				t.Errorf("%08x: %d, %v", want, n, ok)
			}
		})
	}
	for _, a := range []uint32{0, 0x0a000001, 0x0b000002, 0x0c000001} {
		t.Run(fmt.Sprintf("no node %08x", a), func(t *testing.T) {
			if n, ok := addrNode(a); ok {
				t.Errorf("%08x is node %d", a, n)
			}
		})
	}
}

// TestPairOfFat checks the largest base RTT and BDP of the paper's tree, fat.txt: six links of 1 us, two of 100 Gb/s
// and four of 400.
func TestPairOfFat(t *testing.T) {
	host, core := Leg{100 * unit.Gbps, unit.Microsecond}, Leg{400 * unit.Gbps, unit.Microsecond}
	p := NewPair([]Leg{host, core, core, core, core, host}, 1000)
	if p.RTT != 12240 || p.bdp() != 153000 || p.Rate != 100*unit.Gbps {
		t.Errorf("%+v, BDP %d", p, p.bdp())
	}
	// A flow of 2500 bytes in three packets: 12240 + (2500 + 3·48)·8/100 = 12240 + 211.52 ns.
	if got := p.StandaloneFCT(2500, 1000); got != 12451 {
		t.Errorf("standalone %d ns", got)
	}
	if got := p.StandaloneFCT(1, 1000); got != 12240+3 { // 49 bytes: 3.92 ns
		t.Errorf("standalone %d ns", got)
	}
	// Each link's part of a nanosecond is dropped: 1000 B at 30 Gb/s are 266.67 ns.
	slow := Leg{30 * unit.Gbps, 1500 * unit.Nanosecond}
	if p = NewPair([]Leg{slow, slow}, 1000); p.RTT != 6000+2*266 {
		t.Errorf("%+v", p)
	}
}

// TestComputeSlowdowns_MatchesRowsByHand checks slowdowns by hand. Forty flows of sizes 1 to 40 kB take 1000 ns
// standalone. A row of 5 % has two, of sizes 2k+1 and 2k+2, with slowdowns a ≤ b, and ⌊2·p⌋ is 1 for p of 50, 95 and 99
// %: all three are b. A row of 50 % has twenty: ⌊20·0.5⌋ = 10, ⌊20·0.95⌋ = 19 and ⌊20·0.99⌋ = 19.
func TestComputeSlowdowns_MatchesRowsByHand(t *testing.T) {
	var flows []FCT
	for i := range 40 {
		size := 40 - i // the order of the file does not matter
		flows = append(flows, FCT{Src: 1, Dst: 2, SrcPort: uint16(FirstPort + i), DstPort: NormalPort,
			Size: int64(size) * 1000, Start: 2e9, FCT: int64(1000 + 100*size), Standalone: 1000})
	}
	flows[0].FCT = 900 // of 40 kB: faster than alone counts as 1
	flows = append(flows, FCT{Src: 1, Dst: 2, DstPort: IncastPort, Size: 1, Start: 2e9, FCT: 9000, Standalone: 1000},
		FCT{Src: 1, Dst: 2, DstPort: NormalPort, Size: 1, Start: 3e9 - 10, FCT: 10, Standalone: 1}, // ends at the limit
		FCT{Src: 1, Dst: 2, DstPort: NormalPort, Size: 50000, Start: 3e9 - 1000, FCT: 900, Standalone: 0})
	rows := ComputeSlowdowns(flows, NormalPort, 3e9, 20)
	if len(rows) != 20 {
		t.Fatal(rows)
	}
	for k, r := range rows {
		want := SlowdownRow{float64(k) / 20, int64(2*k+2) * 1000, 1 + 0.1*float64(2*k+2), 1 + 0.1*float64(2*k+2), 1 +
			0.1*float64(2*k+2)}
		if k == 19 { // 39 and 40 kB: 4.9 and 1
			want.P50, want.P95, want.P99 = 4.9, 4.9, 4.9
		}
		if r.Share != want.Share || r.Size != want.Size || !testkit.IsNear(r.P50, want.P50, rounding) ||
			!testkit.IsNear(r.P95, want.P95, rounding) ||
			!testkit.IsNear(r.P99, want.P99, rounding) {
			t.Errorf("row %d: %+v, not %+v", k, r, want)
		}
	}
	rows = ComputeSlowdowns(flows, NormalPort, 3e9, 2)
	// 1 to 20 kB: 1.1 … 3.0, the eleventh 2.1; 21 to 40 kB: 1, 3.1 … 4.9, the eleventh 4.0, the twentieth 4.9
	if r := rows[0]; r.Size != 20000 || !testkit.IsNear(r.P50, 2.1, rounding) || !testkit.IsNear(r.P95, 3, rounding) ||
		!testkit.IsNear(r.P99, 3, rounding) {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Size != 40000 || !testkit.IsNear(r.P50, 4, rounding) || !testkit.IsNear(r.P95, 4.9, rounding) ||
		!testkit.IsNear(r.P99, 4.9, rounding) {
		t.Errorf("%+v", r)
	}
	if rows = ComputeSlowdowns(flows, IncastPort, 3e9, 20); len(rows) != 1 || rows[0].P50 != 9 {
		t.Errorf("incast: %+v", rows)
	}
}

// TestQueueAdd checks that a queue of up to 999 bytes counts as 0 KB (HPCC simulator: qlen/1000).
func TestQueueAdd(t *testing.T) {
	var q QueueHistogram
	for _, n := range []int64{0, 999, 1000, 3999, -1} {
		q.AddSample(n)
	}
	if want := []uint64{3, 1, 0, 1}; !reflect.DeepEqual(q.Counts, want) {
		t.Errorf("%v, not %v", q.Counts, want)
	}
}

// TestBadFiles checks each reader's errors for bad input: file, line, column, the allowed values.
func TestBadFiles(t *testing.T) {
	var out strings.Builder
	for _, c := range []struct {
		file  string
		read  func(r io.Reader, file string) error
		cases []string
	}{
		{"config.txt", func(r io.Reader, file string) error { _, err := ReadConfig(r, file); return err }, []string{
			"", "CC_MOD 3", "CC_MODE 3\n  HELLO 1", "CC_MODE 3\nCC_MODE 1", "CC_MODE", "CC_MODE three", "CC_MODE 3 4",
			"CC_MODE 3.5", "ENABLE_QCN 2", "U_TARGET 1.5", "U_TARGET nan",
			"RATE_AI 50", "RATE_AI 50MB/s", "RATE_AI 0.5b/s", "LINK_DELAY 1", "RP_TIMER -1", "RP_TIMER 1e3",
			"SIMULATOR_STOP_TIME 1e30", "QLEN_MON_START 99999999999999999999", "TOPOLOGY_FILE",
			"KMAX_MAP 2 100000000000 1600", "KMAX_MAP 1 100Gbps 1600", "KMAX_MAP 1 100000000000 1600 7",
			"PMAX_MAP 1 100000000000 1.2", "KMIN_MAP 2 1 2 1 3", "KMIN_MAP -1", "LINK_DOWN 5 1", "LINK_DOWN 5 1 x",
			"LINK_DOWN 5 1 2 3",
		}},
		{"trace.txt", func(r io.Reader, file string) error { _, err := ReadNodes(r, file); return err },
			[]string{"", "x", "2\n1", "2\n1 1", "2\n1 2 3", "1\n65536"}},
		{"fct.txt", func(r io.Reader, file string) error { _, err := ReadFCT(r, file); return err }, []string{
			"0b000001 0b000101 10000 100 1 2 3", "0b000001 0b000101 10000 100 1 2 3 4 5", "0a000001 0b000101 10000 100 1 2 3 4",
			"b000001 0b000101 10000 100 1 2 3 4",
			"0b000001 0b000102 10000 100 1 2 3 4", "0b000001 0b000101 70000 100 1 2 3 4", "0b000001 0b000101 10000 100 1 2 -3 4",
		}},
		{"pfc.txt", func(r io.Reader, file string) error { _, err := ReadPFC(r, file); return err },
			[]string{"1 2 3 4", "1 2 3 4 1", "1 2 1 4 2", "x 2 1 4 0", "1 2 1 4 0 9"}},
		{"qlen.txt", func(r io.Reader, file string) error { _, err := ReadQueues(r, file); return err },
			[]string{"1 2 3", "time: ", "time: x", "time: 1 2", "time: 1\n3", "time: 1\n3 x", "time: 1\n3 1 4 -1"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			fmt.Fprintf(&out, "## %s\n", c.file)
			for _, text := range c.cases {
				err := c.read(strings.NewReader(text), c.file)
				if err == nil {
					t.Errorf("%s: %q is read", c.file, text)
				}
				fmt.Fprintf(&out, "%q\n    %v\n", text, err)
			}
		})
	}
	testkit.Golden(t, "badfiles.txt", testkit.RemoveLists(out.String()))
}

// TestListOfKeys checks that the error of an unknown key lists all keys. The golden file has no such lists.
func TestListOfKeys(t *testing.T) {
	var known []string
	for i := range Keys {
		known = append(known, Keys[i].Name)
	}
	_, err := ReadConfig(strings.NewReader("HELLO 1"), "config.txt")
	if err == nil {
		t.Fatal("an unknown key is read")
	}
	testkit.CheckList(t, err.Error(), known)
}

func ExampleWriteFCT() {
	fat := NewPair([]Leg{{100 * unit.Gbps, unit.Microsecond}, {100 * unit.Gbps, unit.Microsecond}}, 1000)
	WriteFCT(os.Stdout, []FCT{{Src: 2, Dst: 1, SrcPort: FirstPort, DstPort: NormalPort, Size: 1000, Start: 2_000_000_000,
		FCT: 5000, Standalone: fat.StandaloneFCT(1000, 1000)}})
	// Output: 0b000201 0b000101 10000 100 1000 2000000000 5000 4243
}
