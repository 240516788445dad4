package loggops_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/core/jobs/goal"
	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/unit"
)

const ns = unit.Nanosecond

// given returns the model of the given files: L 1000, o, g and O 0, G 0.02 (400 Gb/s), all eager.
func given() loggops.Model {
	return loggops.Model{Latency: 1000 * ns, Costs: job.Costs{ByteGap: 20 * unit.Picosecond, Eager: 1 << 40}}
}

func read(t testing.TB, name string) *job.Listed {
	t.Helper()
	data, err := os.ReadFile("../goal/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data), name)
}

func parse(t testing.TB, text, name string) *job.Listed {
	t.Helper()
	l, err := goal.ReadJob([]byte(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ends(t testing.TB, l job.Program, m loggops.Model) (out []int64) {
	t.Helper()
	r, _, err := m.Run(l, job.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Ranks {
		if x.End%ns != 0 {
			t.Errorf("%v is no whole number of nanoseconds", x.End)
		}
		out = append(out, int64(x.End/ns))
	}
	return out
}

// TestModel_MatchesLogGOPSim checks when the ranks of the given files end, in ns. LogGOPSim gives the same.
func TestModel_MatchesLogGOPSim(t *testing.T) {
	for name, want := range map[string][]int64{
		"ring_allreduce_8.goal": {450954, 450954, 450954, 450954, 450954, 450954, 450954, 450954},
		"pipeline_4x6.goal":     {600000, 721971, 843942, 965913},
		"straggler_5.goal":      {1012002, 1013000, 1013001, 1013002, 1013003},
		"deadlock_tag.goal":     {100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ends(t, read(t, name), given()); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// forms are the model's forms, by the value of receive.
var forms = map[string]bool{"nic": false, "free": true}

// TestOneProcessor checks that with all operations on one processor sends wait for computing. With receive: nic,
// operations that become ready at one time run as in LogGOPSim, sends before computing. With receive: free they run in
// the order of the file.
func TestOneProcessor(t *testing.T) {
	data, err := os.ReadFile("../goal/testdata/pipeline_4x6.goal")
	if err != nil {
		t.Fatal(err)
	}
	const calcLast = "num_ranks 2\nrank 0 {\na: calc 100\nb: send 1b to 1\nb requires a\nc: calc 1000\nc requires a\n}\n" +
		"rank 1 {\nrecv 1b from 0\n}\n"
	calcFirst := strings.Replace(strings.Replace(calcLast, "b: send 1b to 1\nb requires a\n", "", 1), "c requires a\n",
		"c requires a\nb: send 1b to 1\nb requires a\n", 1)
	for _, x := range []struct{ name, text, nic, free string }{
		{"a pipeline", strings.ReplaceAll(string(data), " cpu 1", ""), "[600000 826826 969768 1091739]",
			"[600000 721971 843942 965913]"},
		{"a send and then a calc", calcLast, "[1100 1100]", "[1100 1100]"},
		{"a calc and then a send", calcFirst, "[1100 1100]", "[1100 2100]"},
	} {
		for form, want := range map[string]string{"nic": x.nic, "free": x.free} {
			t.Run(x.name+", "+form, func(t *testing.T) {
				m := given()
				m.Free = forms[form]
				if got := fmt.Sprint(ends(t, parse(t, x.text, "x"), m)); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		}
	}
}

// TestModel_CostsMatchHandCalculation checks each parameter by hand, for a message of 101 B from rank 0 to rank 1, and
// another one behind it.
func TestModel_CostsMatchHandCalculation(t *testing.T) {
	const two = "num_ranks 2\nrank 0 {\ns: send 101b to 1\nr: send 101b to 1 tag 1\nd: calc 1 cpu 9\nd requires s\n}\n" +
		"rank 1 {\na: recv 101b from 0\nb: recv 101b from 0 tag 1\n}\n"
	l := parse(t, two, "x")
	for name, c := range map[string]struct {
		m         loggops.Model
		nic, free string
	}{
		"latency": {loggops.Model{Latency: 7 * ns, Costs: job.Costs{Eager: 1000}}, "[1 7]", "[1 7]"},
		// the processor of rank 0 is free at 5 and 10; the second message arrives at 10, and takes 5 more
		"overhead": {loggops.Model{Costs: job.Costs{Overhead: 5 * ns, Eager: 1000}}, "[10 15]", "[10 15]"},
		// 100 B more than the first take 200: free at 200 and 400. With nic the first byte arrives when the send begins,
		// so the second message is received by 400; with free it arrives then, and is received by 600.
		"overhead a byte": {loggops.Model{Costs: job.Costs{PerByte: 2 * ns, Eager: 1000}}, "[400 400]", "[400 600]"},
		// the NIC sends at 0 and 30. It receives the first message from 0 to 30, and the second from then on. With nic a
		// receive ends when its message begins to hold the NIC, with free when it no longer does.
		"gap": {loggops.Model{Costs: job.Costs{Gap: 30 * ns, Eager: 1000}}, "[30 30]", "[30 60]"},
		// 300 for each; the second begins at 300
		"gap a byte": {loggops.Model{Costs: job.Costs{ByteGap: 3 * ns, Eager: 1000}}, "[300 600]", "[300 600]"},
		// not eager: s ends when a does, at 7, and d follows
		"rendezvous": {loggops.Model{Latency: 7 * ns, Costs: job.Costs{Eager: 100}}, "[8 7]", "[8 7]"},
		// With nic the messages arrive at 1010 and 1230, each holds the processor for 210 and the NIC for 220.
		"all": {loggops.Model{Latency: 1000 * ns, Costs: job.Costs{Overhead: 10 * ns, PerByte: ns, Gap: 20 * ns,
			ByteGap: 2 * ns, Eager: 1000}}, "[330 1440]", "[330 1660]"},
	} {
		for form, want := range map[string]string{"nic": c.nic, "free": c.free} {
			t.Run(name+", "+form, func(t *testing.T) {
				c.m.Free = forms[form]
				if got := fmt.Sprint(ends(t, l, c.m)); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		}
	}
}

// TestTwoNICs checks that a message holds the NIC and the processor with the numbers of its send. Two NICs receive at
// the same time, and one processor does not. With L 1000 and G 1, 1001 B hold them for 1000.
func TestTwoNICs(t *testing.T) {
	const text = "num_ranks 3\nrank 0 {\nrecv 1001b from 1\nrecv 1001b from 2%s\n}\n" +
		"rank 1 {\nsend 1001b to 0\n}\nrank 2 {\nsend 1001b to 0%s\n}\n"
	for which, want := range map[string]string{"": "[3000 0 0]", " nic 1": "[3000 0 0]", " cpu 1": "[3000 0 0]",
		" cpu 1 nic 1": "[2000 0 0]"} {
		t.Run(which, func(t *testing.T) {
			m := loggops.Model{Latency: 1000 * ns, Costs: job.Costs{ByteGap: ns, Eager: 1 << 40}}
			if got := fmt.Sprint(ends(t, parse(t, fmt.Sprintf(text, which, which), "x"), m)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestOrderOfTwoNICs checks that messages with the same sender, receiver and tag are received in the order in which
// they are sent. A short one has another NIC and arrives first: at 1010 with L 1000 and G 1, and the long one at 2000.
// Sizes are compared, so a wrong order is an error of the run.
func TestOrderOfTwoNICs(t *testing.T) {
	const text = "num_ranks 2\nrank 0 {\nsend 1001b to 1 tag 5\nsend 11b to 1 tag 5 cpu 1 nic 1\nsend 7b to 1 tag 6\n}\n" +
		"rank 1 {\na: recv 1001b from 0 tag 5\nb: recv 11b from 0 tag 5\nb requires a\nrecv 7b from 0 tag 6\n}\n"
	for form, free := range forms {
		for _, eager := range []unit.Bytes{1 << 40, 0} {
			t.Run(fmt.Sprint(form, ", S ", int64(eager)), func(t *testing.T) {
				m := loggops.Model{Latency: 1000 * ns, Free: free, Costs: job.Costs{ByteGap: ns, Eager: eager}}
				l := parse(t, text, "x")
				if faults := l.Check(); faults != nil { // it notes which messages keep their order
					t.Fatal(faults)
				}
				if got := ends(t, l, m); got[1] != 2006 {
					t.Errorf("rank 1 ends at %d ns, want 2006", got[1])
				}
			})
		}
	}
}

// TestWholeNanoseconds checks that products are rounded down to whole nanoseconds.
func TestWholeNanoseconds(t *testing.T) {
	c := job.Costs{ByteGap: 20}
	for size, want := range map[unit.Bytes]unit.Time{0: 0, 1: 0, 50: 0, 51: ns, 64: ns, 1048576: 20971 * ns} {
		t.Run(size.String(), func(t *testing.T) {
			if got := c.WireTime(size); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// TestModel_DeadlockNamesPlaceAndRank checks that the description of a deadlock has place and rank of what never runs.
func TestModel_DeadlockNamesPlaceAndRank(t *testing.T) {
	for name, want := range map[string]string{
		"deadlock_2.goal": "4 operations of 2 of 2 ranks never run\n" +
			"deadlock_2.goal:3: a of rank 0 waits for a message from rank 1 with tag 1, and 1 others of the rank wait\n" +
			"deadlock_2.goal:8: a of rank 1 waits for a message from rank 0 with tag 2, and 1 others of the rank wait",
		"deadlock_tag.goal": "1 operations of 1 of 2 ranks never run\n" +
			"deadlock_tag.goal:8: r of rank 1 waits for a message from rank 0 with tag 6, and 0 others of the rank wait",
		"straggler_5.goal": "",
	} {
		t.Run(name, func(t *testing.T) {
			l := read(t, name)
			r, _, err := given().Run(l, job.Watch{})
			if err != nil {
				t.Fatal(err)
			}
			if got := job.DescribeDeadlock(l, &r); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestModel_WildcardReceivesTakeFirstMessage checks that receives of any rank or tag take the first message that
// arrives, and that a message takes the receive that was posted first.
func TestModel_WildcardReceivesTakeFirstMessage(t *testing.T) {
	l := parse(t, "num_ranks 3\nrank 0 {\nw: calc 500\ns: send 1b to 2 tag 4\ns requires w\n}\n"+
		"rank 1 {\ns: send 1b to 2 tag 9\n}\nrank 2 {\na: recv 1b from -1 tag -1\nc: calc 10 cpu 1\nc requires a\n"+
		"b: recv 1b from 0 tag -1\nd: calc 10 cpu 2\nd requires b\ne: calc 5000 cpu 3\ne irequires b\n}\n", "x")
	var spans []string
	r, _, err := given().Run(l, job.Watch{OnSpan: func(s job.Span) {
		if s.Op.Kind == job.Calc {
			spans = append(spans, fmt.Sprintf("%s of %d at %v", l.Label(s.Rank, s.At.Op), s.Rank, s.From))
		}
	}})
	if err != nil || r.Left > 0 {
		t.Fatal(err, r)
	}
	if got := strings.Join(spans, ", "); got != "w of 0 at 0s, c of 2 at 1us, d of 2 at 1.5us, e of 2 at 0s" {
		t.Error(got)
	}
}

// TestModel_CountsComputingOnce checks that computing is counted once, on any number of processors. The rest until a
// rank's end is exposed.
func TestModel_CountsComputingOnce(t *testing.T) {
	r, _, err := given().Run(read(t, "straggler_5.goal"), job.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []unit.Time{5000 * ns, 100000 * ns} {
		if got := r.Ranks[i].Computing; got != want {
			t.Errorf("rank %d computes for %v, not %v", i, got, want)
		}
	}
	if got := r.Ranks[1].Exposed(); got != 913000*ns {
		t.Errorf("%v of rank 1 are exposed", got)
	}
	if r.Ranks[0].Sent != 256 || r.Ranks[0].Messages != 4 {
		t.Errorf("%+v", r.Ranks[0])
	}
}

// TestTooLong checks that a time without end is an error.
func TestTooLong(t *testing.T) {
	var b strings.Builder
	b.WriteString("num_ranks 1\nrank 0 {\n")
	for range 9 {
		b.WriteString("calc 1000000000000000\n")
	}
	b.WriteString("}\n")
	if _, _, err := given().Run(parse(t, b.String(), "x"), job.Watch{}); err == nil {
		t.Error("no error")
	}
}

func ExampleModel_Run() {
	l, _ := goal.ReadJob([]byte("num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\n}\n"), "x")
	m := loggops.Model{Latency: unit.Microsecond, Costs: job.Costs{ByteGap: 20, Eager: 65535}}
	r, _, err := m.Run(l, job.Watch{})
	fmt.Println(r.Ranks[1].End, err)
	// Output: 1.019us <nil>
}
