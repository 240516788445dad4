package storage

import (
	"fmt"
	"testing"

	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/unit"
	"weir/internal/testkit/jobtest"
)

const us = unit.Microsecond

// runJob runs a job on a network of 8 Gb/s with 1 us. A send ends when its message has been received.
func runJob(t *testing.T, c Config) (*Job, job.Outcome) {
	t.Helper()
	j, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	m := loggops.Model{Latency: us, Costs: job.Costs{ByteGap: unit.Nanosecond, Eager: -1}}
	return j, jobtest.RunJob(t, m, j, job.Watch{})
}

func last(o *job.Outcome) (out []string) {
	for _, x := range o.Iterations {
		out = append(out, x.Last.String())
	}
	return out
}

// TestJob_ReadTimesMatchHandCalculation checks the times of reads. A request of 64 B takes 1.063 us, and a batch of
// 1001 B 2 us. The server's NIC sends one of them at a time, so the second of two hosts is 1 us behind. Read ahead, a
// batch arrives before it is needed.
func TestJob_ReadTimesMatchHandCalculation(t *testing.T) {
	c := Config{Clients: 2, Servers: 1, Iterations: 3, Compute: 10 * us, Read: 1001}
	_, o := runJob(t, c)
	if got := fmt.Sprint(last(&o)); got != "[14.063us 27.126us 40.189us]" {
		t.Error(got)
	}
	c.Ahead = true
	if _, o = runJob(t, c); fmt.Sprint(last(&o)) != "[14.063us 24.063us 34.063us]" {
		t.Errorf("ahead: %v", last(&o))
	}
	c.Slow = map[int]float64{0: 2}
	if _, o = runJob(t, c); o.Iterations[2].Slowest != 0 || o.Ranks[0].Computing != 60*us || o.Ranks[2].Computing != 0 {
		t.Errorf("%+v", o)
	}
}

// TestJob_CheckpointTimesMatchHandCalculation checks the times of checkpoints. One of 1001 B takes 2 us after every
// second iteration of 10 us. It takes 3 us for the second of two hosts, since the server's NIC receives its message
// behind the first one's. One that blocks delays the iteration that it ends. An asynchronous one delays the end of all,
// and the next checkpoint if it is not over by then.
func TestJob_CheckpointTimesMatchHandCalculation(t *testing.T) {
	c := Config{Clients: 2, Servers: 1, Iterations: 4, Compute: 10 * us, Write: 1001, Every: 2}
	_, o := runJob(t, c)
	if got := fmt.Sprint(last(&o)); got != "[10us 23us 33us 45us]" {
		t.Error(got)
	}
	if x := o.Operations; len(x) != 2 || x[0] != (job.Operation{Begin: 20 * us, End: 23 * us}) ||
		x[1] != (job.Operation{Begin: 42 * us, End: 45 * us}) {
		t.Errorf("%+v", x)
	}
	c.Asynchronous = true
	if _, o = runJob(t, c); fmt.Sprint(last(&o)) != "[10us 20us 30us 40us]" || o.Ranks[0].End != 42*us {
		t.Errorf("beside: %v, %v", last(&o), o.Ranks[0].End)
	}
	c.Write = 50001 // 51 us
	if _, o = runJob(t, c); fmt.Sprint(last(&o)) != "[10us 20us 30us 40us]" || o.Operations[1].Begin != 71*us {
		t.Errorf("beside, long: %v, %+v", last(&o), o.Operations)
	}
}

// TestJob_StripesSendAllBytesOnce checks that all data are sent once, for any division among servers. Bytes, messages,
// iterations and checkpoints are as many as the formulas give, and each checkpoint ends.
func TestJob_StripesSendAllBytesOnce(t *testing.T) {
	for _, c := range []Config{
		{Clients: 5, Servers: 3, Iterations: 4, Compute: us, Read: 1000, Stripes: 2},
		{Clients: 5, Servers: 3, Iterations: 7, Compute: us, Write: 1000, Every: 3, Stripes: 3, Asynchronous: true},
		{Clients: 2, Servers: 5, Iterations: 6, Read: 99, Write: 1000, Every: 2, Stripes: 4, Ahead: true},
		{Clients: 1, Servers: 1, Iterations: 2, Write: 1, Every: 5},
		{Clients: 8, Servers: 2, Iterations: 3, Write: 1000, Read: 1000},
	} {
		j, o := runJob(t, c)
		bytes, messages := 0.0, 0.0
		for _, r := range o.Ranks {
			bytes += float64(r.Sent)
			messages += float64(r.Messages)
		}
		if bytes != j.totalBytes() || messages != j.messageCount() {
			t.Errorf("%+v: %v B in %v messages, not %v in %v", c, bytes, messages, j.totalBytes(), j.messageCount())
		}
		if len(o.Iterations) != c.Iterations || len(o.Operations) != j.checkpointCount() {
			t.Errorf("%+v: %d iterations, %d checkpoints", c, len(o.Iterations), len(o.Operations))
		}
		for _, x := range o.Operations {
			if x.End == unit.Never {
				t.Errorf("%+v: a checkpoint is not over", c)
			}
		}
	}
}

// TestNew_RejectsBadConfigByKey checks that the error about an impossible configuration has the wrong key and what is
// allowed.
func TestNew_RejectsBadConfigByKey(t *testing.T) {
	for key, c := range map[string]Config{
		"servers":    {Clients: 0, Servers: 2, Read: 1},
		"size":       {Clients: 1, Servers: 2, Read: 1, Stripes: 2},
		"stripes":    {Clients: 1, Servers: 2, Read: 10, Stripes: 3},
		"iterations": {Clients: 1000, Servers: 1, Read: 10, Iterations: 1000000},
	} {
		_, err := New(c)
		if w, is := err.(*configError); !is || w.Key != key || w.Allowed == "" {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := New(Config{Clients: 1, Servers: 1}); err == nil {
		t.Error("nothing to do")
	}
}
