package workload

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"weir/core/unit"
)

// TestDistributions_MatchHPCCMeansAndShares follows HPCC simulator, traffic_gen: mean sizes of its distributions, and
// their shares.
func TestDistributions_MatchHPCCMeansAndShares(t *testing.T) {
	for _, c := range []struct {
		name string
		mean float64
	}{{"websearch", 1_711_250}, {"hadoop", 120_420.8}, {"alistorage", 40_869.8}} {
		t.Run(c.name, func(t *testing.T) {
			for _, d := range Distributions() {
				if d.Name != c.name {
					continue
				}
				if math.Abs(d.MeanSize()/c.mean-1) > 1e-3 {
					t.Errorf("%s: mean %.1f, want %.1f", c.name, d.MeanSize(), c.mean)
				}
				random, sum := unit.NewRandom(1, c.name), 0.0
				const n = 400_000
				below := make([]int, len(d.Points))
				for range n {
					s := d.SizeAt(random.Float64())
					sum += float64(s)
					for k, p := range d.Points {
						if float64(s) <= p.Bytes {
							below[k]++
						}
					}
				}
				if math.Abs(sum/n/c.mean-1) > 0.02 {
					t.Errorf("%s: mean of %d samples %.1f", c.name, n, sum/n)
				}
				for k, p := range d.Points {
					if got := float64(below[k]) / n; math.Abs(got-p.Share) > 0.005 {
						t.Errorf("%s: %.4f of the samples are at most %g, want %.4f", c.name, got, p.Bytes, p.Share)
					}
				}
			}
		})
	}
}

func TestReadCDF(t *testing.T) {
	c, err := ReadCDF(strings.NewReader("0 0\n\n1000 50\n3000 100\n"), "x")
	if err != nil || c.SizeAt(0.25) != 500 || c.SizeAt(0.75) != 2000 || c.SizeAt(0) != 1 || c.MeanSize() != 1250 {
		t.Errorf("%+v %v", c, err)
	}
	for text, want := range map[string]string{
		"":                    "x:1:1: the file ends; a point at 100 percent",
		"0 0\n1.2.3 50\n":     "x:2:1: \"1.2.3\" is not a number of bytes",
		"0 0\n1000 50\n":      "x:2:8: the file ends; a point at 100 percent",
		"0 0\n1000 101\n":     "x:2:6: 101 percent",
		"0 0\n1000 50\n10 60": "x:3:1: 10 bytes are less",
		"0 50\n10 40\n":       "x:2:4: 40 percent are less",
		"0 0 0\n":             "x:1:5: 3 words; a point has two: bytes, cumulative percent; remove the other columns",
		"# sizes\n0 0\n":      "x:1:1: \"#\"; a line has two numbers with a space between them: remove comments",
		"0 0 # x\n":           "x:1:5: \"#\"; a line has two",
		"0,0\n":               "x:1:2: \",\"; a line has two",
		"0 0\n10000 0.15\n30000000 1\n": "x:3:11: the file ends; a point at 100 percent is missing; shares from 0 to 1 are " +
			"percent if multiplied by 100",
		"0 x\n":        "x:1:3: \"x\" is not a number",
		"1e9 5\n":      "x:1:1: \"1e9\" is not a number",
		"\x00\xff 5\n": "x:1:1: ",
	} {
		t.Run(cmp.Or(text, "empty"), func(t *testing.T) {
			if _, err := ReadCDF(strings.NewReader(text), "x"); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		})
	}
}

func TestReadHTSimFlows(t *testing.T) {
	f, err := readHTSimFlows(strings.NewReader("Nodes 4\nConnections 2\n1->0 id 1 start 0 size 2000000\n2->3 start 7 "+
		"size 5 # last\n"), "x", unit.Microsecond)
	if err != nil || fmt.Sprint(f) != "[{1 0 0 0 2MB 0s {3 1 4 17}} {2 3 0 0 5B 7us {4 1 4 12}}]" {
		t.Errorf("%v %v", f, err)
	}
	for text, want := range map[string]string{
		"":                                      "x:1:1: the file ends; Nodes",
		"Nodes 2\nConnections 1\n":              "x:2:14: the file ends after 0 of the 1",
		"Nodes 2\n0->1 start 0 size 1\n":        "x:2:1: \"0->1\"; the file begins",
		"Nodes 2\nConnections 1\n0->2 s":        "x:3:4: node \"2\"",
		"Nodes 2\nConnections 1\n0->0 s":        "x:3:4: the flow goes from node 0",
		"Nodes 2\nConnections 1\n0-1 s":         "x:3:1: \"0-1\" is not src->dst",
		"Nodes 2\nConnections 1\n0->1 size":     "x:3:10: the line ends; the size",
		"Nodes 2\nConnections 1\n0->1 size 1\n": "x:3:12: the line ends; the start is missing",
		"Nodes 2\nConnections 1\n0->1 trigger 1 start 0 size 1\n":    "x:3:1: the flow has a start and a trigger",
		"Nodes 2\nConnections 0\n0->1 start 0 size 1\n":              "x:3:1: more than the 0",
		"Nodes 2\nConnections 1\n0->1 start 99999999999999 size 1\n": "x:3:12: the start is",
		"Nodes 2\nConnections 1\n0->1 start 0 size 0\n": "x:3:19: the size is \"0\", an endless flow of " +
			"htsim; remove the line, and give the experiment a traffic without size",
		"Nodes 0\nConnections 1\n": "x:1:7: the number of nodes",
		"Nodes 2\nConnections 1\n0->1 start 0.000000 size 1\n": "x:3:12: the start is \"0.000000\"; a number from 0 to " +
			"9223372036854 is allowed; write it without a decimal point, in a smaller time_unit if need be",
		"Nodes 2\nConnections 1\n0->1 id 1 start 0 size 1 prio 1\n": "x:3:26: \"prio\" is not known; remove it and its " +
			"value: flows have the class that their transport has",
		"Nodes 2\nConnections 1\n0->1 id 1 msg start 0 size 1\n": "x:3:11: \"msg\" is not known; remove it, and give each " +
			"line an id of its own: each message is a connection",
		"Nodes 2\nConnections 1\nFailures 1\n": "x:3:1: \"Failures\" is not src->dst; remove the line, and those that " +
			"begin with failure: a link fails by events",
	} {
		t.Run(cmp.Or(text, "empty"), func(t *testing.T) {
			if _, err := readHTSimFlows(strings.NewReader(text), "x", unit.Microsecond); err == nil ||
				!strings.HasPrefix(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		})
	}
}

// FuzzReaders_ReportErrorPlace checks that any files give flows and distributions that can be used, or an error with
// its place.
func FuzzReaders_ReportErrorPlace(f *testing.F) {
	f.Add("0 0\n1000 50\n3000 100\n")
	f.Add("Nodes 4\nConnections 1\n1->0 id 1 start 0 size 2000000\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ReadCDF(strings.NewReader(text), "x"); err == nil {
			for _, u := range []float64{0, 0.3, 0.999} {
				if c.SizeAt(u) < 1 {
					t.Errorf("a size of %v", c.SizeAt(u))
				}
			}
		} else if _, ok := err.(*FormatError); !ok {
			t.Errorf("%T", err)
		}
		flows, err := readHTSimFlows(strings.NewReader(text), "x", unit.Nanosecond)
		if err != nil {
			if _, ok := err.(*FormatError); !ok {
				t.Errorf("%T", err)
			}
		}
		lines := strings.Split(text, "\n")
		for _, x := range flows {
			for _, c := range []struct{ column, value int }{{x.At.Src, x.Src}, {x.At.Dst, x.Dst},
				{x.At.Start, int(x.Start / unit.Nanosecond)}} {
				if got := numberAt(lines[x.At.Line-1], c.column); got != c.value {
					t.Errorf("line %d, column %d has %d, not %d of %+v", x.At.Line, c.column, got, c.value, x)
				}
			}
			if x.Size < 1 || x.Start < 0 || x.Src == x.Dst {
				t.Errorf("%+v", x)
			}
		}
	})
}

// numberAt reads the whole number that begins at a column of a line.
func numberAt(line string, column int) int {
	rest := strings.TrimLeft(line[column-1:], "+")
	if end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		rest = rest[:end]
	}
	n, _ := strconv.Atoi(rest)
	return n
}

func ExampleCDF_SizeAt() {
	c, _ := ReadCDF(strings.NewReader("0 0\n1000 50\n3000 100\n"), "sizes.txt")
	fmt.Println(c.SizeAt(0.25), c.SizeAt(0.75), c.MeanSize())
	// Output: 500B 2kB 1250
}
