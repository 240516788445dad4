package chakra

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/testkit/jobtest"
)

// writer writes traces in the format of et_def.proto.
type writer struct{ b []byte }

func (w *writer) number(field int, v uint64) {
	if v != 0 { // proto3 leaves zeros out
		w.b = binary.AppendUvarint(binary.AppendUvarint(w.b, uint64(field)<<3), v)
	}
}

func (w *writer) bytes(field int, data []byte) {
	w.b = binary.AppendUvarint(w.b, uint64(field)<<3|wireBytes)
	w.b = append(binary.AppendUvarint(w.b, uint64(len(data))), data...)
}

// attribute writes an attribute with the number v. kind is its type: 7 int32, 9 int64, 13 uint64, 27 bool.
func (w *writer) attribute(name string, kind int, v uint64) {
	var a writer
	a.bytes(1, []byte(name))
	a.b = binary.AppendUvarint(binary.AppendUvarint(a.b, uint64(kind)<<3), v)
	w.bytes(10, a.b)
}

// made makes a trace of nodes: "id type us deps… key=value…", such as "3 5 0 2 comm_dst=4".
func made(nodes ...string) []byte {
	var head, out writer
	head.bytes(1, []byte("0.0.4"))
	add := func(message []byte) { out.b = append(binary.AppendUvarint(out.b, uint64(len(message))), message...) }
	add(head.b)
	for i, text := range nodes {
		var w writer
		words := strings.Fields(text)
		var v [3]uint64
		for k := range v {
			fmt.Sscan(words[k], &v[k])
		}
		w.number(1, v[0])
		w.number(3, v[1])
		w.number(7, v[2])
		var packed []byte
		for _, x := range words[3:] {
			key, value, attribute := strings.Cut(x, "=")
			var n int64
			fmt.Sscan(value, &n)
			switch {
			case key == "pg_name":
				var a writer
				a.bytes(1, []byte(key))
				a.bytes(29, []byte(value))
				w.bytes(10, a.b)
			case key == "involved_dim":
				var a, list writer
				a.bytes(1, []byte(key))
				for _, c := range value {
					list.b = append(list.b, byte(c-'0'))
				}
				var packed writer
				packed.bytes(1, list.b)
				a.bytes(28, packed.b)
				w.bytes(10, a.b)
			case attribute: // writers differ in the type
				w.attribute(key, []int{7, 9, 13}[i%3], uint64(n))
			default:
				fmt.Sscan(key, &n)
				if i%2 == 0 {
					w.b = binary.AppendUvarint(binary.AppendUvarint(w.b, 5<<3), uint64(n)) // not packed
				} else {
					packed = binary.AppendUvarint(packed, uint64(n))
				}
			}
		}
		if packed != nil {
			w.bytes(4+i%2, packed)
		}
		add(w.b)
	}
	return out.b
}

// ring returns the trace of one rank of an all-reduce among eight, with nodes for each step.
func ring(rank int) []byte {
	var nodes []string
	id := 0
	add := func(format string, args ...any) {
		dep := ""
		if id > 0 {
			dep = fmt.Sprint(id - 1)
		}
		nodes = append(nodes, fmt.Sprintf("%d ", id)+strings.Replace(fmt.Sprintf(format, args...), "DEP", dep, 1))
		id++
	}
	for step := range 14 {
		add("5 0 DEP comm_type=5 comm_size=131072 comm_dst=%d comm_tag=0", (rank+1)%8)
		add("6 0 DEP comm_size=131072 comm_src=%d comm_dst=%d", (rank+7)%8, rank)
		if step < 7 {
			add("4 7 DEP")
		}
	}
	return made(nodes...)
}

func read(t testing.TB, o Options, traces ...[]byte) (*job.Listed, error) {
	t.Helper()
	var names []string
	for i := range traces {
		names = append(names, fmt.Sprintf("x.%d.et", i))
	}
	return ReadTraces(traces, names, o)
}

func end(t testing.TB, l *job.Listed) unit.Time {
	t.Helper()
	m := loggops.Model{Latency: unit.Microsecond, Costs: job.Costs{ByteGap: 20, Eager: 1 << 40}}
	o := jobtest.RunJob(t, m, l, job.Watch{})
	last := unit.Time(0)
	for _, r := range o.Ranks {
		last = max(last, r.End)
	}
	return last
}

// TestReadTraces_RingTimesMatchHandCalculation checks an all-reduce of 1 MiB in two forms. One is a node; the other has
// messages of 131,072 B between which a rank computes for 7 us, seven times. Its 14 transfers take 1,000 +
// ⌊0.02·131,071⌋ ns each.
func TestReadTraces_RingTimesMatchHandCalculation(t *testing.T) {
	var whole, steps [][]byte
	for rank := range 8 {
		whole = append(whole, made("3 7 0 is_cpu_op=0 comm_type=0 comm_size=1048576"))
		steps = append(steps, ring(rank))
	}
	const transfers = 14 * 3621 * unit.Nanosecond
	for name, x := range map[string]struct {
		traces [][]byte
		want   unit.Time
		ops    int
	}{"one node": {whole, transfers, 8 * (28 + 2)}, "steps": {steps, transfers + 49*unit.Microsecond, 8 * 35}} {
		t.Run(name, func(t *testing.T) {
			l, err := read(t, Options{}, x.traces...)
			if err != nil {
				t.Fatal(err)
			}
			if got := end(t, l); got != x.want || l.CountOps() != x.ops || l.Check() != nil {
				t.Errorf("%v, want %v; %d operations, want %d; %v", got, x.want, l.CountOps(), x.ops, l.Check())
			}
		})
	}
}

// TestReadTraces_NodesWaitForDependencies checks that nodes wait for their dependencies. Nodes of the host and of the
// device do not wait for each other. A duration of 0 is 1 ns.
func TestReadTraces_NodesWaitForDependencies(t *testing.T) {
	l, err := read(t, Options{}, made("1 4 10", "2 4 20 is_cpu_op=1", "3 4 0 1 2", "4 2 5 3", "5 1 0 4"))
	if err != nil {
		t.Fatal(err)
	}
	if got := end(t, l); got != 25*unit.Microsecond+unit.Nanosecond {
		t.Error(got)
	}
}

// TestReadTraces_GroupsSelectMembers checks that groups and dimensions select the members of an operation. Two
// operations at one time do not mix, also among the same ranks.
func TestReadTraces_GroupsSelectMembers(t *testing.T) {
	for name, x := range map[string]struct {
		o     Options
		nodes []string
		sends string // to whom each rank sends first
		bytes float64
	}{
		"all": {Options{}, []string{"1 7 0 comm_type=2 comm_size=400"}, "1 2 3 0", 4 * 3 * 400},
		"inner": {Options{Dims: []int{2, 2}}, []string{"1 7 0 comm_type=2 comm_size=400 involved_dim=10"}, "1 0 3 2",
			4 * 400},
		"outer": {Options{Dims: []int{2, 2}}, []string{"1 7 0 comm_type=2 comm_size=400 involved_dim=01"}, "2 3 0 1",
			4 * 400},
		"groups": {Options{Groups: map[string][]int{"a": {0, 3}, "b": {2, 1}}}, nil, "3 2 1 0", 4 * 400},
		"twice": {Options{}, []string{"1 7 0 comm_type=0 comm_size=400", "2 7 0 comm_type=6 comm_size=400",
			"3 7 0 comm_type=9", "6 7 0 comm_type=1 comm_size=400", "7 7 0 comm_type=3 comm_size=400",
			"8 7 0 comm_type=4 comm_size=400", "4 7 0 comm_type=5 comm_size=9", "5 7 0 3 comm_type=7 comm_size=9"}, "1 2 3 0",
			// all-reduce, all-to-all, barrier of a byte a rank, reduce, gather, scatter, broadcast, reduce-scatter
			6*400 + 3*400 + 6*4 + 3*400 + 3*400 + 300 + 3*9 + 3*9},
	} {
		t.Run(name, func(t *testing.T) {
			var traces [][]byte
			for rank := range 4 {
				nodes := x.nodes
				if nodes == nil {
					nodes = []string{"1 7 0 comm_type=2 comm_size=400 pg_name=" + string("abba"[rank])}
				}
				traces = append(traces, made(nodes...))
			}
			l, err := read(t, x.o, traces...)
			if err != nil {
				t.Fatal(err)
			}
			end(t, l)
			var got []string
			for r := range 4 {
				for i := range l.Ops(r, 0) {
					if op := l.Op(r, job.Ref{Op: int32(i)}); op.Kind == job.Send {
						got = append(got, fmt.Sprint(op.Peer))
						break
					}
				}
			}
			if strings.Join(got, " ") != x.sends || l.Traits().Bytes != x.bytes {
				t.Errorf("%v and %v B, want %s and %v B", got, l.Traits().Bytes, x.sends, x.bytes)
			}
		})
	}
}

// TestNumberTypes checks that integers of an attribute have the same meaning in each type that et_def.proto has for
// them.
func TestNumberTypes(t *testing.T) {
	write := func(name string, kind int, v int64) node {
		var a writer
		a.bytes(1, []byte(name))
		wire := uint64(wireVarint)
		switch kind {
		case 19, 23:
			wire = wire32
		case 21, 25:
			wire = wire64
		}
		a.b = binary.AppendUvarint(a.b, uint64(kind)<<3|wire)
		switch {
		case wire == wire32:
			a.b = binary.LittleEndian.AppendUint32(a.b, uint32(v))
		case wire == wire64:
			a.b = binary.LittleEndian.AppendUint64(a.b, uint64(v))
		case kind == 15 || kind == 17:
			a.b = binary.AppendVarint(a.b, v)
		default:
			a.b = binary.AppendUvarint(a.b, uint64(v))
		}
		var x node
		if err := x.readAttribute(a.b); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, kind := range []int{7, 9, 11, 13, 15, 17, 19, 21, 23, 25} {
		want := []int64{0, 1, 1 << 20}
		if kind != 11 && kind != 13 && kind != 19 && kind != 21 { // signed
			want = append(want, -1)
		}
		for _, v := range want {
			x := write("comm_size", kind, v)
			if got, known := x.number("comm_size"); !known || got != v {
				t.Errorf("field %d: %d, %v, want %d", kind, got, known, v)
			}
		}
	}
}

// TestAttributesOfOtherTypes checks that a group's name that is a number, and dimensions that are no list of bool, are
// errors. Without them an operation would be among all ranks.
func TestAttributesOfOtherTypes(t *testing.T) {
	group := made("1 7 0 comm_type=0 comm_size=1")
	var w writer
	w.b = append(w.b, group[8:]...) // behind the metadata: length and node
	w.b = w.b[1:]
	w.attribute("pg_name", 7, 1)
	text := append(append([]byte{}, group[:8]...), byte(len(w.b)))
	if _, err := read(t, Options{}, append(text, w.b...)); err == nil ||
		!strings.Contains(err.Error(), "its pg_name is a number; a string is allowed") {
		t.Error(err)
	}
	for _, kind := range []int{7, 8, 10, 27, 29} {
		var a writer
		a.bytes(1, []byte("involved_dim"))
		if kind%2 == 0 {
			a.bytes(kind, []byte{8, 1})
		} else {
			a.number(kind, 1)
		}
		err := new(node).readAttribute(a.b)
		if err == nil || !strings.Contains(err.Error(), "involved_dim is no list of bool") {
			t.Errorf("field %d: %v", kind, err)
		}
	}
}

// TestReadTraces_ErrorsNameRankAndNode checks that errors about a trace name the rank, the node and what is wrong.
func TestReadTraces_ErrorsNameRankAndNode(t *testing.T) {
	one := made("1 4 10")
	for name, x := range map[string]struct {
		traces [][]byte
		want   string
	}{
		"empty":   {[][]byte{{}}, "x.0.et:1:1: byte 0: the file is empty"},
		"short":   {[][]byte{one[:len(one)-1]}, "a message of 6 B, and the file has 5 more"},
		"garbage": {[][]byte{{3, 0xff, 0xff, 0xff}}, "x.0.et:1:2: byte 1: the message ends within a field"},
		"twice":   {[][]byte{made("1 4 10", "1 4 20")}, "node 1 of rank 0: the number is another node's already"},
		"unknown": {[][]byte{made("1 4 10 9")}, "node 1 of rank 0: it depends on node 9, which the rank has not"},
		"type": {[][]byte{one, made("7 9 10")},
			"node 7 of rank 1: type 9; allowed: 1 (metadata), 2 and 3 (memory), 4 (compute)"},
		"peer":    {[][]byte{made("1 5 0 comm_size=1 comm_dst=1")}, "node 1 of rank 0: its comm_dst is 1; 0 to 0 are"},
		"no peer": {[][]byte{made("1 6 0 comm_size=1")}, "its comm_src is missing; 0 to 0 are allowed"},
		"own":     {[][]byte{one, made("1 5 0 comm_src=0 comm_size=1 comm_dst=0")}, "its comm_src is 0, but the"},
		"size":    {[][]byte{made("1 5 0 comm_dst=0")}, "its comm_size is missing"},
		"tag":     {[][]byte{made("1 5 0 comm_size=1 comm_dst=0 comm_tag=-1")}, "its comm_tag is -1; 0 to 2147483647"},
		"kind":    {[][]byte{made("1 7 0 comm_type=10 comm_size=1")}, "its comm_type is 10; allowed: 0 (all-reduce)"},
		"group": {[][]byte{made("1 7 0 comm_type=0 comm_size=1 pg_name=7")}, "its process group \"7\" has " +
			"unknown ranks; name them in the job, such as groups: groups.json with {\"7\": [0, 1]}"},
		"host side": {[][]byte{made("1 7 85 is_cpu_op=1")}, "its comm_type is missing; allowed: 0 (all-reduce), " +
			"1 (reduce), 2 (all-gather), 3 (gather), 4 (scatter), 5 (broadcast), 6 (all-to-all), 7 and 8 (reduce-scatter), " +
			"9 (barrier); a host's side of the operation is a node of type 4 (compute)"},
		"no type": {[][]byte{made("1 0 0")}, "type 0; allowed: 1 (metadata), 2 and 3 (memory), 4 (compute), 5 (send), " +
			"6 (receive), 7 (collective); leave the node out, or give it type 1"},
		"JSON": {[][]byte{[]byte(`{"schema": "1.1.0-chakra.0.0.4", "nodes": []}`)}, "x.0.et:1:1: byte 0: the trace is in " +
			"JSON; write it as protobuf"},
		"dims": {[][]byte{made("1 7 0 comm_type=0 comm_size=1 involved_dim=10")}, "it is among some of 2 dimensions"},
		"other": {[][]byte{made("1 7 0 comm_type=0 comm_size=9"), made("5 7 0 comm_type=0 comm_size=8")},
			"node 5 of rank 1: all_reduce of 8B, where node 1 of x.0.et, the same operation, is all_reduce of 9B; give " +
				"both the same comm_type and comm_size"},
		"block": {[][]byte{made("1 7 0 comm_type=2 comm_size=600000000000"), one}, "node 1 of rank 0: its comm_size is the " +
			"block of 600GB that each of 2 ranks has, which are 1.2TB; up to 1099511627776 B are allowed"},
		"scatter": {[][]byte{made("1 7 0 comm_type=4 comm_size=9"), made("5 7 0 comm_type=4 comm_size=8")},
			"scatter of 8B, where node 1 of x.0.et, the same operation, is scatter of 9B"},
		"root": {[][]byte{made("1 7 0 comm_type=4 comm_size=0"), made("5 7 0 comm_type=4 comm_size=8")},
			"scatter of 8B, where node 1 of x.0.et, the same operation, is scatter of 0B; a scatter is from its first rank"},
		"time": {[][]byte{made("1 4 9000000000000000")}, "it takes 9000000000000000 us"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, Options{}, x.traces...)
			if f := (*workload.FormatError)(nil); !errors.As(err, &f) || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want %s", err, x.want)
			}
		})
	}
}

// TestParseDims_RejectsBadDimsAndGroups checks that wrong sizes of dimensions and wrong process groups are errors.
func TestParseDims_RejectsBadDimsAndGroups(t *testing.T) {
	if d, err := parseDims("4x2", 8); err != nil || fmt.Sprint(d) != "[4 2]" {
		t.Error(d, err)
	}
	for _, bad := range []string{"4x", "4x3", "x", "0x8", "-2x-4", "99999999999x8"} {
		t.Run(bad, func(t *testing.T) {
			if d, err := parseDims(bad, 8); err == nil {
				t.Error(d)
			}
		})
	}
	if g, err := readGroups([]byte(`{"0": [1, 0], "z": []}`), "g", 2); err != nil || len(g["0"]) != 2 {
		t.Error(g, err)
	}
	for _, bad := range []string{`{"0": [2]}`, `{"0": [1, 1]}`, `[1]`, ``, `{"0": [-1]}`} {
		t.Run(bad, func(t *testing.T) {
			if g, err := readGroups([]byte(bad), "g", 2); err == nil {
				t.Error(g)
			}
		})
	}
}

// FuzzReadTraces_GivesJobOrFormatError checks that any file gives a job or an error with its place.
func FuzzReadTraces_GivesJobOrFormatError(f *testing.F) {
	f.Add(ring(0)[:300])
	f.Add(made("1 4 10", "2 7 0 1 comm_type=0 comm_size=100", "3 5 0 comm_size=1 comm_dst=1",
		"4 6 0 comm_size=1 comm_src=1"))
	f.Add(made("1 7 0 comm_type=6 comm_size=9 involved_dim=10", "2 7 0 comm_type=2 comm_size=9 pg_name=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := Options{Dims: []int{2, 1}, Groups: map[string][]int{"1": {1, 0}}}
		l, err := ReadTraces([][]byte{data, data}, []string{"a", "b"}, o)
		if err != nil {
			if _, ok := err.(*workload.FormatError); !ok {
				t.Errorf("%T", err)
			}
			return
		}
		l.Check()
	})
}

func ExampleReadTraces() {
	l, err := ReadTraces([][]byte{{2, 10, 0}}, []string{"x.0.et"}, Options{})
	fmt.Println(l.CountOps(), err)
	_, err = ReadTraces([][]byte{{2, 10}}, []string{"x.0.et"}, Options{})
	fmt.Println(err)
	// Output:
	// 0 <nil>
	// x.0.et:1:1: byte 0: a message of 2 B, and the file has 1 more
}
