package e2e

import (
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/cc"
	"weir/core/telemetry"
)

// signalled is an experiment in which data queues at t->b only, and no packet is lost.
const signalled = `duration: 1ms
topology:
  hosts: [a, b]
  switches: [s, t]
  links:
    - {ends: [a, s], rate: 10Gbps, delay: 1us}
    - {ends: [s, t], rate: 10Gbps, delay: 1us}
    - {ends: [t, b], rate: 1Gbps, delay: 1us}
switches: {s: {programs: [forward WIDE]}, t: {programs: [forward NARROW]}}
traffic: [{name: x, from: a, to: b, transport: {rdma: {recovery: selective_repeat, ecn: ECN}}, cc: CONTROL, start: 0s}]
measure: [goodput]
`

// TestWarningsOfSignals checks that each controller gets its signals from the switch at which its data queues, and
// from no other.
func TestWarningsOfSignals(t *testing.T) {
	for _, x := range app.Registry().Controllers {
		needs := x.Signals&^cc.ByLosses != 0 && x.Signals&(cc.ByDelay|cc.ByDelivery) == 0
		programs := "ecn, bolt, {telemetry: {t: 100us}}"
		if x.Telemetry == telemetry.PathLoad {
			programs = "ecn, bolt, {telemetry: {format: relative, t: 100us}}"
		}
		marks := "controller"
		if x.ECN == cc.AsConfigured {
			marks = "echo"
		}
		compared := 0
		for _, at := range []string{"WIDE", "NARROW"} {
			text := strings.NewReplacer(" "+at, ", "+programs, "ECN", marks, "CONTROL", x.Name, " WIDE", "",
				" NARROW", "").Replace(signalled)
			all, loads := issued(text)
			if !loads {
				continue
			}
			compared++
			fires := slices.Contains(all, "cc-no-signal t->b")
			if fires != (needs && at == "WIDE") {
				t.Errorf("%s with programs at the switch %s: %v", x.Name, at, all)
			}
		}
		if compared == 0 && x.Name != "none" {
			t.Errorf("%s: no file loads", x.Name)
		}
	}
}

// TestWarningsOfDirectLinks checks that no controller lacks a signal on a path without switches, where only the
// sender's own queue grows.
func TestWarningsOfDirectLinks(t *testing.T) {
	for _, x := range app.Registry().Controllers {
		text := "duration: 1ms\ntopology: {hosts: [a, b], links: [{ends: [a, b], rate: 1Gbps, delay: 1ms}]}\n" +
			"traffic: [{name: x, from: a, to: b, transport: rdma, cc: " + x.Name + ", start: 0s}]\nmeasure: [goodput]\n"
		if all, _ := issued(text); slices.ContainsFunc(all, func(w string) bool {
			return strings.HasPrefix(w, "cc-no-signal") || strings.HasSuffix(w, "unanswered a->b")
		}) {
			t.Errorf("%s: %v", x.Name, all)
		}
	}
}
