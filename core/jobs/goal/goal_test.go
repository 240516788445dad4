package goal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/core/jobs/collective"
	"weir/core/jobs/job"
	"weir/core/unit"
	"weir/core/workload"
)

func read(t testing.TB, name string) *job.Listed {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ReadJob(data, name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// good lists the files of testdata that can be read.
var good = []string{"ring_allreduce_8.goal", "pipeline_4x6.goal", "straggler_5.goal", "deadlock_2.goal",
	"deadlock_tag.goal", "cycle.goal"}

// TestRoundTrip checks that a file is the same job after text → binary → text. Text is written as it was read except
// for its layout.
func TestRoundTrip(t *testing.T) {
	for _, name := range good {
		t.Run(name, func(t *testing.T) {
			l := read(t, name)
			var binary, again, text bytes.Buffer
			if err := writeBinary(&binary, l); err != nil {
				t.Fatal(err)
			}
			b, err := ReadJob(binary.Bytes(), "b")
			if err != nil || !b.HasSameOps(l) {
				t.Fatalf("the binary form is another job: %v", err)
			}
			if writeBinary(&again, b); !bytes.Equal(again.Bytes(), binary.Bytes()) {
				t.Error("the binary form is written differently")
			}
			writeText(&text, b)
			x, err := ReadJob(text.Bytes(), "t")
			if err != nil || !x.HasSameOps(l) {
				t.Fatalf("the text of the binary form is another job: %v", err)
			}
			text.Reset()
			writeText(&text, l)
			own, err := ReadJob(text.Bytes(), "t")
			if err != nil || !own.HasSameOps(l) || own.Label(0, 0) != l.Label(0, 0) {
				t.Fatalf("its own text is another job: %v\n%s", err, text.Bytes())
			}
		})
	}
}

// TestBinaryLayout checks the binary form byte by byte, calculated by hand: magic, ranks, cpu and nic, places; then two
// ranks.
func TestBinaryLayout(t *testing.T) {
	l, err := ReadJob([]byte("num_ranks 2\nrank 0 {\na: calc 7 cpu 3\nb: send 300b to 1 tag 5 cpu 1 nic 2\n"+
		"b requires a\n}\nrank 1 {\nrecv 300b from -1 tag -1\n}\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	writeBinary(&b, l)
	u32 := func(v ...uint32) (out []byte) {
		for _, x := range v {
			out = append(out, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
		}
		return out
	}
	u64 := func(v uint64) []byte { return append(u32(uint32(v)), u32(uint32(v>>32))...) }
	var want []byte
	for _, part := range [][]byte{
		u64(4223), u32(2), {3, 2}, u64(38), u64(38 + 8 + 4 + 78 + 4), u64(132), u64(132 + 8 + 4 + 39), // places from byte 8
		u32(2, 1, 0),
		u32(0), {3}, u32(0), u64(7), u32(0), {3, 0}, u32(1, 0, 0, 1),
		u32(1), {1}, u32(1), u64(300), u32(5), {1, 2}, u32(0, 1, 0, 1),
		u32(1),
		u32(1, 1, 0),
		u32(0), {2}, u32(1<<32 - 1), u64(300), u32(1<<32 - 1), {0, 0}, u32(0, 0, 0, 0),
	} {
		want = append(want, part...)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("\n% x, want\n% x", b.Bytes(), want)
	}
}

// TestTextErrors checks that errors about a text have its place, what is wrong and what is allowed.
func TestTextErrors(t *testing.T) {
	const head = "num_ranks 2\nrank 0 {\n"
	for text, want := range map[string]string{
		"":                                "x:1:1: the file ends; num_ranks is missing",
		"rank 0 {\n}\n":                   `x:1:1: "rank"; num_ranks and how many there are is expected`,
		"num_ranks 0\n":                   "x:1:11: the number of ranks is 0; a number from 1 to",
		"num_ranks -1\n":                  `x:1:11: the number of ranks is "-1"; a number from 0 to`,
		"num_ranks 2 3\n":                 `x:1:13: "3"; the end of the line is expected`,
		"num_ranks 1\n":                   "x:1:12: the file ends after 0 of 1 ranks; rank 0 { is expected",
		"num_ranks 2\nrank 1 {\n}\n":      "x:2:6: rank 1 where rank 0 is expected: ranks come in order, each once",
		head + "}\n":                      "x:3:2: the file ends after 1 of 2 ranks",
		head + "calc 5\n":                 "x:3:7: the file ends within rank 0; } is missing",
		head + "}\nrank 1 {\n}\nrank 2 {": `x:6:1: "rank" behind the last of 2 ranks; nothing is allowed there`,
		head + "calc\n":                   "x:3:5: the time in ns is the end of the line; a number from 0 to",
		head + "calc 1.5\n":               `x:3:7: "."; cpu with its number, or the end of the line, is expected`,
		head + "calc 5 nic 1\n":           `x:3:8: "nic"; cpu with its number`,
		head + "calc 5 cpu 256\n":         `x:3:12: the cpu is "256"; a number from 0 to 255 is allowed`,
		head + "send 4096 to 1\n":         `x:3:11: "to" behind the size 4096; b is expected: 4096b`,
		head + "send 4096b from 1\n":      `x:3:12: "from"; to and a rank is expected`,
		head + "send 4096b to 2\n":        `x:3:15: the rank is "2"; a number from 0 to 1 is allowed`,
		head + "send 4096b to -1\n":       `x:3:15: the rank is "-1"; a number from 0 to 1 is allowed`,
		head + "recv 1b from 1 cpu 1 tag": "x:3:22: tag behind cpu; the order is tag, cpu, nic, each once",
		head + "recv 1b from 1 tag 1 tag": "x:3:22: tag behind tag; the order is",
		head + "recv 1b from 1 // x\n":    `x:3:16: "/"; tag, cpu, nic (in this order), or the end of the line, is`,
		head + "a: b: calc 5\n":           `x:3:4: "b"; calc, send or recv is expected`,
		head + "é: calc 5\n":              `x:3:1: "é"; a label, calc, send, recv or } is expected`,
		head + "a: calc 5\na: calc 6\n":   "x:4:1: the label a is taken by operation 0 of the rank",
		head + "a: calc 5\na requires\n":  "x:4:11: the end of the line; a label is expected",
		head + "a: calc 5\na requires b":  "x:4:12: rank 0 has no label b above this line; it has a",
		head + "b requires a":             "x:3:1: rank 0 has no label b above this line; it has none so far",
		head + "/* calc 5\n":              "x:3:1: the comment has no end: */",
		head + "/* a */ calc 5\n":         `x:3:9: "calc"; the end of the line: a comment has its own is expected`,
	} {
		t.Run(cmp.Or(text, "empty"), func(t *testing.T) {
			_, err := ReadJob([]byte(text), "x")
			if f := (*workload.FormatError)(nil); !errors.As(err, &f) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

// TestGivenErrors checks the errors about the given files that are wrong. Lines are counted from 1.
func TestGivenErrors(t *testing.T) {
	for name, want := range map[string]string{
		"syntax_error.goal":    `syntax_error.goal:4:15: "to" behind the size 4096; b is expected: 4096b`,
		"undefined_label.goal": "undefined_label.goal:4:13: rank 0 has no label l9 above this line; it has l1",
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ReadJob(data, name); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

// TestTextAllowed checks what the grammar allows: comments, no labels, line ends of Windows, empty ranks, any source
// and tag.
func TestTextAllowed(t *testing.T) {
	l, err := ReadJob([]byte("// c\r\n\r\nnum_ranks 2\r\n/* more\r\nlines */\r\nrank 0 {\r\n}\r\nrank 1 {\r\n"+
		"\tcalc 5\r\n  x1_ : recv 0b from -1 tag -1 nic 9\r\ny: calc 1\r\ny irequires x1_\r\ny requires x1_\r\n"+
		"y irequires x1_\r\n}"), "x")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range l.Ops(1, 0) {
		at := job.Ref{Op: int32(i)}
		got += fmt.Sprintf("%+v %q line %d after %v\n", l.Op(1, at), l.Label(1, at.Op), l.Line(1, at.Op), l.After(1, at, nil))
	}
	want := `{Size:0B Time:5ns Peer:0 Tag:0 Part:0 CPU:0 NIC:0 Kind:calc Mark:0} "" line 9 after []
{Size:0B Time:0s Peer:-1 Tag:4294967295 Part:0 CPU:0 NIC:9 Kind:recv Mark:0} "x1_" line 10 after []
{Size:0B Time:1ns Peer:0 Tag:0 Part:0 CPU:0 NIC:0 Kind:calc Mark:0} "y" line 11 after [{0 1 false}]
`
	if got != want || l.Ops(0, 0) != 0 {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBinaryErrors checks that errors about a file in binary form have its place and what is wrong.
func TestBinaryErrors(t *testing.T) {
	var b bytes.Buffer
	if err := writeBinary(&b, read(t, "straggler_5.goal")); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	ranks := 8 + 6 + 16*5
	node := ranks + 8 + 4*4 // of rank 0, which has four first ones
	for name, x := range map[string]struct {
		at   int // byte that changes
		to   byte
		cut  int // bytes that stay; 0: all
		want string
	}{
		"header":     {cut: 10, want: "x:1:11: byte 10: the file ends within its header of 14 B"},
		"no ranks":   {at: 8, to: 0, want: "byte 8: 0 ranks; from 1 to"},
		"many ranks": {at: 10, to: 1, want: "byte 8: 65541 ranks, and the file has room for the places of"},
		"place":      {at: 14, to: 9, want: "byte 14: rank 0 is from 9 to"},
		"end":        {at: 27, to: 9, want: "byte 14: rank 0 is from 86 to"},
		"nodes":      {at: ranks, to: 99, want: "rank 0 has 99 nodes, 4 of them first ones, and no room for them"},
		"first":      {at: ranks + 8, to: 4, want: "rank 0: 4 is no node without dependencies"},
		"type":       {at: node + 4, to: 7, want: "node 0 of rank 0: type 7; 1 (send), 2 (recv) and 3 (calc) are allowed"},
		"peer":       {at: node + 5, to: 8, want: "node 0 of rank 0: rank 8; 0 to 4 are allowed"},
		"size":       {at: node + 16, to: 1, want: "node 0 of rank 0: a message of"},
		"dependents": {at: node + 23, to: 99, want: "node 0 of rank 0 points to 99 numbers from 0 on, and the rank has"},
		"count":      {at: node, to: 2, want: "node 0 of rank 0 has 0 dependencies, but its count is 2"},
		"shorter":    {cut: len(whole) - 1, want: "rank 4 is from"},
	} {
		t.Run(name, func(t *testing.T) {
			data := bytes.Clone(whole)
			if x.cut > 0 {
				data = data[:x.cut]
			} else {
				data[x.at] = x.to
			}
			if _, err := ReadJob(data, "x"); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want %s", err, x.want)
			}
		})
	}
}

// FuzzReadJob_RoundTripsOrFormatError checks that any file gives an error with its place, or a job that can be written
// and read back as the same.
func FuzzReadJob_RoundTripsOrFormatError(f *testing.F) {
	for _, name := range good {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) > 2000 {
			continue
		}
		f.Add(data)
		var b bytes.Buffer
		if l, err := ReadJob(data, name); err == nil && writeBinary(&b, l) == nil {
			f.Add(b.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ReadJob(data, "x")
		if err != nil {
			if _, ok := err.(*workload.FormatError); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		l.Check()
		var text, binary bytes.Buffer
		writeText(&text, l)
		writeBinary(&binary, l)
		for _, form := range [][]byte{text.Bytes(), binary.Bytes()} {
			again, err := ReadJob(form, "y")
			if err != nil || !again.HasSameOps(l) {
				t.Fatalf("%v: %q is another job than %q", err, form, data)
			}
		}
	})
}

func ExampleReadJob() {
	l, err := ReadJob([]byte("num_ranks 2\nrank 0 {\na: send 10b to 1\n}\nrank 1 {\nb: recv 10b from 0\n}\n"), "x.goal")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Ranks(), "ranks,", l.CountOps(), "operations")
	_, err = ReadJob([]byte("num_ranks 1\nrank 0 {\na: calc x\n}\n"), "y.goal")
	fmt.Println(err)
	// Output:
	// 2 ranks, 2 operations
	// y.goal:3:9: the time in ns is "x"; a number from 0 to 1000000000000000 is allowed
}

// TestNoWait checks that a job that waits for a time cannot be written.
func TestNoWait(t *testing.T) {
	j, err := collective.New(collective.Config{Operation: collective.AllReduce, Algorithm: collective.Ring, Members: 2,
		Size: 1000, Align: unit.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	const want = "rank 0 waits until a multiple of 1us, which GOAL cannot express"
	if err := writeText(io.Discard, j); err == nil || err.Error() != want {
		t.Error(err)
	}
}
