package workload

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"weir/core/unit"
)

func TestReadHPCCFlows(t *testing.T) {
	_, err := ReadHPCCFlows(strings.NewReader("3\n0 9 3 100 2000000 2.0\n\n 17 0 3 200 1 2.000000001\n1 2 0 65535 "+
		"500000\t2.000000000001\n"), "x.flow")
	want := []Flow{
		{0, 9, 3, 100, 2 * unit.MB, 2 * unit.Second, FilePosition{2, 1, 3, 19}},
		{17, 0, 3, 200, 1, 2*unit.Second + unit.Nanosecond, FilePosition{4, 2, 5, 15}},
	}
	// the third starts before the second
	var e *FormatError
	if !errors.As(err, &e) || e.Line != 5 || e.Column != 20 || !strings.Contains(e.Msg, "ascend") {
		t.Errorf("got %v", err)
	}
	got, err := ReadHPCCFlows(strings.NewReader("2\n0 9 3 100 2000000 2.0\n\n 17 0 3 200 1 2.000000001\n"), "x.flow")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// TestReadBenchPermutation checks the permutation of bench/experiments: each of 128 hosts sends 2 MB to one other and
// receives 2 MB from one.
func TestReadBenchPermutation(t *testing.T) {
	f, err := os.Open("../../study/bench/experiments/perm128_2MB.flow")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flows, err := ReadHPCCFlows(f, "perm128_2MB.flow")
	if err != nil || len(flows) != 128 {
		t.Fatal(len(flows), err)
	}
	var from, to [128]int
	for _, x := range flows {
		from[x.Src]++
		to[x.Dst]++
		if x.Size != 2*unit.MB || x.Start != 2*unit.Second || x.Class != 3 || x.Port != 100 {
			t.Errorf("%+v", x)
		}
	}
	for i := range 128 {
		if from[i] != 1 || to[i] != 1 {
			t.Errorf("host %d sends %d flows and receives %d", i, from[i], to[i])
		}
	}
}

func TestReadHPCCFlowsErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "x.flow:1:1: the file ends; the number of flows is missing"},
		{"one\n", `x.flow:1:1: the number of flows is "one"`},
		{"-1\n", "x.flow:1:1: the number of flows"},
		{"99999999999\n", "x.flow:1:1: the number of flows"},
		{"1 2\n", "x.flow:1:1: the first line is the number of flows alone"},
		{"2\n0 1 3 100 5 2.0\n", "x.flow:2:16: the file ends after 1 of the 2 flows"},
		{"1\n0 1 3 100 5 2.0\n0 1 3 100 5 2.0\n", "x.flow:3:1: more than the 1 flows"},
		{"1\n0 1 3 100 5\n", "x.flow:2:12: the line ends after 5 of six words"},
		{"1\n-1 1 3 100 5 2.0\n", "x.flow:2:1: the source"},
		{"1\n0  0 3 100 5 2.0\n", "x.flow:2:4: the flow goes from node 0 to itself"},
		{"1\n0 1 8 100 5 2.0\n", "x.flow:2:5: the class"},
		{"1\n0 1 3 65536 5 2.0\n", "x.flow:2:7: the port"},
		{"1\n0 1 3 100 0 2.0\n", "x.flow:2:11: the size"},
		{"1\n0 1 3 100000 2.0 9.5\n", `x.flow:2:14: the size is "2.0"; a whole number of bytes is allowed: a flow has src ` +
			"dst class port bytes start, and of ns3-rdma src dst class packets start stop"},
		{"1\n0 1 3 100 5 -2.0\n", `x.flow:2:13: the start is "-2.0"`},
		{"1\n0 1 3 100 5 2e0\n", "x.flow:2:13: the start"},
		{"1\n0 1 3 100 5 2.0m\n", "x.flow:2:13: the start"},
		{"1\n0 1 3 100 5 .\n", "x.flow:2:13: the start"},
		{"1\n0 1 3 100 5 0.0000000000001\n", "x.flow:2:13: the start"},
		{"1\n0 1 3 100 5 9223372.036854775807\n", "x.flow:2:13: the start"},
		{"1\n0 1 3 100 5 1p9999999\n", "x.flow:2:13: the start"},
		{"1\n\u00a00\u20031 3 100 5 x\n", "x.flow:2:17: the start"},
	} {
		t.Run(cmp.Or(c.text, "empty"), func(t *testing.T) {
			flows, err := ReadHPCCFlows(strings.NewReader(c.text), "x.flow")
			var e *FormatError
			if !errors.As(err, &e) || flows != nil && !e.Excess || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
			}
		})
	}
	if _, err := ReadHPCCFlows(iotest.ErrReader(iotest.ErrTimeout), "x.flow"); err == nil ||
		!strings.Contains(err.Error(), "timeout") {
		t.Errorf("got %v", err)
	}
}

// TestReadHPCCFlowsAllErrors checks that all wrong flows are reported at once, up to a limit and to the first line that
// has not six words.
func TestReadHPCCFlowsAllErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"3\n0 0 3 100 5 2.0\n0 1 9 100 5 2.0\n0 1 3 100 5 1.0\n", []string{"x.flow:2:3: the flow goes",
			"x.flow:3:5: the class"}},
		{"4\n0 1 3 100 5 2.0\n0 1 3 100 5\n0 1 3 100 5 1.0\n0 1 3 100 5 2.5 6\n", []string{"x.flow:3:12: the line ends"}},
		{"4\n0 1 3 100 5 2.0\n0 1 9 100 5 2.0\n0 1 3 100 5 1.0\n0 1 3 100 5 2.5 6\n", []string{"x.flow:3:5: the class",
			"x.flow:4:13: the start is before", "x.flow:5:17: 7 words"}},
		{"3\n0 0 3 100 5 2.0\n0 x 3 100 5 2.0\n", []string{"x.flow:2:3: the flow goes", "x.flow:3:3: the destination",
			"x.flow:3:16: the file ends after 2 of the 3"}},
		{"2\n0 0 3 100 5 2.0\n1 1 3 100 5 2.0\n0 1 3 100 5 2.0", []string{"x.flow:2:3: the flow", "x.flow:3:3: the flow"}},
	} {
		_, err := ReadHPCCFlows(strings.NewReader(c.text), "x.flow")
		got := strings.Split(fmt.Sprint(err), "\n")
		if len(got) != len(c.want) {
			t.Fatalf("%q:\n got %v\nwant %q", c.text, err, c.want)
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%q:\n got %s\nwant %s", c.text, got[i], want)
			}
		}
	}
	_, err := ReadHPCCFlows(strings.NewReader("1000\n"+strings.Repeat("0 0 3 100 5 2.0\n", 1000)), "x.flow")
	if n := strings.Count(fmt.Sprint(err), "\n") + 1; n != maxErrors {
		t.Errorf("%d errors of 1000 are reported", n)
	}
}

func FuzzReadHPCCFlows(f *testing.F) {
	f.Add("1\n0 9 3 100 2000000 2.0\n")
	f.Add("2\n0 1 3 100 1 2.000000000\n1 0 3 200 500000 9223372.036854775806")
	f.Add("0")
	f.Fuzz(func(t *testing.T, text string) {
		flows, err := ReadHPCCFlows(strings.NewReader(text), "x.flow")
		if err != nil {
			var e *FormatError
			if !errors.As(err, &e) || flows != nil && !e.Excess || e.Line < 1 || e.Column < 1 {
				t.Fatalf("%v with %v", flows, err)
			}
			return
		}
		lines := strings.Split(text, "\n")
		for _, x := range flows {
			for _, c := range [][2]int{{x.At.Src, x.Src}, {x.At.Dst, x.Dst}, {x.At.Start, int(x.Start / unit.Second)}} {
				if got := numberAt(lines[x.At.Line-1], c[0]); got != c[1] {
					t.Fatalf("line %d, column %d has %d, not %d of %+v", x.At.Line, c[0], got, c[1], x)
				}
			}
		}
		var b bytes.Buffer
		if err := WriteHPCCFlows(&b, flows); err != nil {
			t.Fatal(err)
		}
		again, err := ReadHPCCFlows(&b, "x.flow")
		for _, list := range [][]Flow{flows, again} {
			for i := range list {
				list[i].At = FilePosition{} // another file
			}
		}
		if err != nil || !reflect.DeepEqual(flows, again) {
			t.Fatalf("%q read as\n%v, written and read again as\n%v, %v", text, flows, again, err)
		}
	})
}

func ExampleReadHPCCFlows() {
	flows, err := ReadHPCCFlows(strings.NewReader("2\n0 9 3 100 2000000 2.0\n4 9 3 200 500000 2.000013\n"), "incast.flow")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range flows {
		fmt.Printf("host %d sends %v to host %d at %v\n", f.Src, f.Size, f.Dst, f.Start)
	}
	// Output:
	// host 0 sends 2MB to host 9 at 2s
	// host 4 sends 500kB to host 9 at 2000.013ms
}
