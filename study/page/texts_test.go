package page

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/page/live"
	"weir/study/plan"
	"weir/study/run"
)

// TestJobText_FollowsState checks that a job's text follows its state, and an estimate of the rest follows its share.
func TestJobText_FollowsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		time.Sleep(2 * time.Second)
		for _, c := range []struct {
			name   string
			job    *live.Job
			status live.Status
			want   string
		}{
			{"waiting", &live.Job{}, live.Status{State: live.Waiting}, "Waiting for earlier jobs."},
			{"begun", &live.Job{}, live.Status{State: live.Running, Begun: begun, Far: run.Progress{Runs: 3}},
				"0 of 3 runs done"},
			{"running", &live.Job{}, live.Status{State: live.Running, Begun: begun,
				Far: run.Progress{Runs: 3, Done: 1, Share: 0.25, PacketHops: 5_000_000}},
				"1 of 3 runs done, 5 M packet-hops, 2.5 M per second, about 6s left"},
			{"too early for an estimate", &live.Job{Single: &plan.Run{}}, live.Status{State: live.Running, Begun: begun,
				Far: run.Progress{Runs: 1, Share: 0.01, PacketHops: 4000}},
				"one run; only this film of it is kept, 4 k packet-hops, 2 k per second"},
			{"stopped before it began", &live.Job{}, live.Status{State: live.Stopped}, "stopped"},
			{"done", &live.Job{}, live.Status{State: live.Done, Begun: begun, Ended: begun.Add(1500 * time.Millisecond)},
				"done after 1.5 s"},
		} {
			if got := jobText(c.job, c.status); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	})
}

// TestQueueLine checks that a sweep's line names failures, and the reason of its wait.
func TestQueueLine(t *testing.T) {
	for _, c := range []struct {
		name  string
		sweep live.WorkersStatus
		want  string
	}{
		{"nothing", live.WorkersStatus{}, "0 queued or running, 0 done, 0 failed"},
		{"undisturbed", live.WorkersStatus{Queued: 4, Done: 2, Failed: 1}, "4 queued or running, 2 done, 1 failed"},
		{"disturbed", live.WorkersStatus{Done: 9, Checked: 3, Lost: 2, Aside: 1, Waiting: "its disk is full"},
			"0 queued or running, 9 done, 0 failed; 3 repeated and compared; 2 lost with a worker and sent to another; 1 " +
				"worker excluded for wrong results. All runs wait: its disk is full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := queueText(&c.sweep); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestEstimateCost_CountsGuaranteedSeeds checks that an estimate counts an experiment's guaranteed seeds, and notes
// that its data may require more.
func TestEstimateCost_CountsGuaranteedSeeds(t *testing.T) {
	load := func(repeat string) *experiment.Spec {
		text := strings.Replace(plantest.Small, "repeat: 2", repeat, 1) + plantest.SmallTraffic +
			"switch: [forward]\nsweep: {rate: [500kbps, 1Mbps]}\nmeasure: [goodput]\n"
		return plantest.Load(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), text, experiment.Options{})
	}
	fixed := estimateCost(load("repeat: 4"), 1)
	if fixed.Runs != 8 || fixed.Points != 2 || fixed.AtLeast || fixed.Hops == "" || fixed.Time == "" {
		t.Errorf("%+v", fixed)
	}
	need := estimateCost(load("repeat: {measure: goodput.a, until: 5%, least: 4, most: 9}"), 1)
	if !need.AtLeast || need.Runs != 8 || need.Points != 2 || need.Hops != fixed.Hops {
		t.Errorf("%+v, and with 4 seeds in any case %+v", fixed, need)
	}
}

// TestFormatAge_IsRelativeForOneDay checks that times of results are relative for a day.
func TestFormatAge_IsRelativeForOneDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for past, want := range map[time.Duration]string{0: "just now", 59 * time.Second: "just now",
			time.Minute: "1 min ago", 59 * time.Minute: "59 min ago", time.Hour: "1 h ago", 23 * time.Hour: "23 h ago",
			24 * time.Hour: now.Add(-24 * time.Hour).Format(time.DateOnly)} {
			if got := formatAge(now.Add(-past)); got != want {
				t.Errorf("%v: %q, want %q", past, got, want)
			}
		}
	})
	if got := formatQuantity(math.NaN(), "s"); got != "–" {
		t.Errorf("no number: %q", got)
	}
}

// TestTracePorts checks that ports of a form may have spaces around them.
func TestTracePorts(t *testing.T) {
	if got := parseTracePorts(" s1->server,, a->* ,"); !slices.Equal(got, []string{"s1->server", "a->*"}) {
		t.Errorf("%q", got)
	}
	if got := parseTracePorts(""); got != nil {
		t.Errorf("%q of nothing", got)
	}
}
