//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"weir/core/state"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
	"weir/worlds/sim/recurrence"
)

// surveyState runs the first point of a file, and examines the types of its state at the end.
func surveyState(t *testing.T, text string) recurrence.Survey {
	t.Helper()
	s := plantest.LoadSource(t, Registry(), plantest.NewSource("x.yaml", text), experiment.Options{})
	c, err := plan.Config(s.Points()[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	c.Threads = 1
	r, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if out := r.Run(); out.PacketHops < 500 {
		t.Errorf("%d packet-hops prove little", out.PacketHops)
	}
	return r.SurveyState()
}

// stateForms are options with additional state, beyond each scheme with its defaults.
var stateForms = map[string][2]string{
	"letflow with failover": {"switch: [{letflow: {gap: 20us, failover: 50us}}]\nevents: [{at: 200us, " +
		"link: [leaf0, spine1], down: true}]", overTCP},
	"drill with failover": {"switch: [{drill: {failover: 50us}}]", overTCP},
	"wecmp with failover": {"switch: [{wecmp: {failover: 50us}}]", overTCP},
	"spray with failover": {"switch: [{spray: {failover: 50us}}]", "transport: rdma, cc: swift"},
	"hula":                {"switch: [{hula: {probe: 50us, gap: 20us}}]", overTCP},
	"conga":               {"switch: [{conga: {gap: 20us}}]", overTCP},
	"fq_codel":            {`switches: {"*": {programs: [ecmp], scheduler: fq_codel}}`, overTCP},
	"cake":                {`switches: {"*": {programs: [ecmp], scheduler: cake}}`, overTCP},
	"codel with ECN":      {"switch: [ecmp, {codel: {ecn: true}}]", "transport: tcp, cc: dctcp"},
	"pie by rate":         {"switch: [ecmp, {pie: {delay: rate}}]", overTCP},
	"ncf with echoes": {"switch: [ecmp, {ncf: {form: ece, coalesce: 20us, pool: switch, sketch: switch}}]",
		"transport: tcp, cc: cubic"},
	"ncf by flowlets": {"switch: [ecmp, {ncf: {change: flowlet, renew: windows}}]", overTCP},
	"integer abc":     {"switch: [ecmp, {abc: {arithmetic: integer}}]", overTCP},
	"fair abc":        {"switch: [ecmp, {abc: {flows: 64}}]", overTCP},
	"p4te that looks": {"addresses: hierarchical\nswitch: [{p4te: {age: 1ms, detect: 100us, tell: true}}]\n" +
		"events: [{at: 200us, link: [leaf0, spine1], down: true}]", "transport: tcp, cc: dctcp"},
	"pauses of classes": {"switch: [ecmp, {shared_buffer: {size: 100kB}}, pfc, " +
		"{telemetry: {format: int-md, t: 30us, idle: 1ms}}]", "transport: rdma, cc: hpcc"},
	"a link with loss": {"switch: [ecmp]\nevents: [{at: 100us, link: [leaf0, spine0], rate: 300Mbps}]", overTCP},
}

// TestStateIsDescribed checks that each time in the state of any program, scheduler, controller or transport, and
// of hosts with a job, has a kind, and that all other state can be compared. Packets are dropped, marked, paused
// and retransmitted meanwhile. Each type with a description is part of some state.
func TestStateIsDescribed(t *testing.T) {
	var mutex sync.Mutex
	met := map[reflect.Type]bool{}
	specs, surveys := 0, 0
	t.Run("every state", func(t *testing.T) {
		everyState(func(what, text string) {
			specs++
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				found := surveyState(t, text)
				for _, x := range found.Faults {
					t.Error(x)
				}
				mutex.Lock()
				defer mutex.Unlock()
				surveys++
				for _, x := range found.Types {
					met[x] = true
				}
			})
		})
	})
	if surveys < specs { // -run has selected some
		return
	}
	for _, x := range state.Described() {
		if state.KindsOf(x); !met[x] {
			t.Errorf("%v has a description, and is part of no state", x)
		}
	}
}

// everyState calls check with specs that together have all kinds of state of a network.
func everyState(check func(what, text string)) {
	everyScheme(Registry(), check)
	for what, form := range stateForms {
		check(what, threadsSpec(form[0], form[1], ""))
	}
	for what, x := range map[string]struct{ programs, transport string }{
		"job of tcp": {lossy, "transport: tcp, cc: cubic"},
		"job of rdma": {lossy,
			"transport: {rdma: {recovery: selective_repeat, reordering: adaptive, paths: 4}}, cc: hpcc"},
		"job of dcqcn":    {lossy, "transport: rdma, cc: dcqcn"},
		"job of receiver": {lossy, "transport: rdma, cc: {rx_hpcc: {t: 12us}}"},
		"job of ndp":      {"[ROUTE, ndp]\nswitches: {\"*\": {queues: 2}}", "transport: ndp"},
		"job of credit":   {trimmed, "transport: {uet: {control: both, balance: reps}}"},
		"job of uet":      {trimmed, "transport: {uet: {balance: bitmap, ask_late: 50%}}"},
	} {
		check(what, training2(x.programs, x.transport))
	}
}

// training2 is a job that ends in the middle of an iteration.
func training2(programs, transport string) string {
	text := strings.Replace(training, "duration: 1s", "duration: "+(110*unit.Microsecond).String(), 1)
	for _, x := range []string{strings.Replace(programs, "ROUTE", "letflow", 1), "nic: rail", transport, reduce} {
		text = strings.Replace(text, "%s", x, 1)
	}
	return strings.Replace(text, "nic: rail\n", "\n", 1)
}
