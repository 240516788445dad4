package hpcc

import (
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// TestCongestedLoadShare checks that the share of a link in hpcc-congested-load consists of whole packets, as in
// simulations of a star of 1 us links. Ports that queues of a packet make congested cause no warning.
func TestCongestedLoadShare(t *testing.T) {
	for _, x := range []struct {
		rate  unit.Rate
		flows int
		load  float64
		queue unit.Bytes
		share string // "": not warned of
	}{
		{100 * unit.Gbps, 1, 1, 5000, "2.1 %"},   // .0204
		{100 * unit.Gbps, 1, .97, 5000, "6.4 %"}, // .0612
		{100 * unit.Gbps, 8, 1, 5000, "17 %"},    // .163
		{100 * unit.Gbps, 8, 1, 1, "17 %"},       // .163
		{400 * unit.Gbps, 8, 1, 5000, "4.2 %"},   // .0421
		{400 * unit.Gbps, 8, 1, 2000, "4.2 %"},   // .0421
		{400 * unit.Gbps, 8, 1, 1, ""},           // .907
		{400 * unit.Gbps, 2, 1, 1, "1.1 %"},      // .0105
		{1000 * unit.Gbps, 4, 1, 1, ""},          // .865
		{1000 * unit.Gbps, 4, 1, 2000, "0.85 %"}, // .0085
	} {
		p := cc.FlowPath{Flows: x.flows, NarrowLink: cc.Link{Port: "s->h0", Rate: x.rate, Payload: x.rate / 1106 * 1000}}
		p.BaseRTT, p.NICRate = 4180*unit.Nanosecond, x.rate
		s := &cc.FlowContext{MSS: 1000, Paths: []cc.FlowPath{p}, Telemetry: &telemetry.Format{Load: x.load, Queue: x.queue}}
		c := Defaults()
		a := c.additive()
		got := a.checkCongestedLoad(s)
		switch {
		case x.share == "" && len(got) > 0, x.share != "" && len(got) != 1:
			t.Errorf("%+v: %v", x, got)
		case x.share != "" && !strings.Contains(got[0].Text, " "+x.share+" full"):
			t.Errorf("%+v: %s", x, got[0].Text)
		}
	}
}

// TestSmallWindow checks that a single flow fills the whole packets of B·T of its link, as in simulations of a star of
// 1 us links. Several flows, flows that end and faster NICs fill the link.
func TestSmallWindow(t *testing.T) {
	for _, x := range []struct {
		rate, nic unit.Rate
		trip      unit.Time
		flows     int
		crossed   bool
		share     string // "": not warned of
	}{
		{unit.Gbps, unit.Gbps, 22176 * unit.Nanosecond, 1, false, "76 %"},               // .754
		{unit.Gbps, unit.Gbps, 22176 * unit.Nanosecond, 1, true, "55 %"},                // .66
		{unit.Gbps, unit.Gbps, 22176 * unit.Nanosecond, 16, false, ""},                  // 1
		{unit.Gbps, 10 * unit.Gbps, 22176 * unit.Nanosecond, 1, false, ""},              // .955
		{2500 * unit.Mbps, 2500 * unit.Mbps, 11270 * unit.Nanosecond, 1, false, "90 %"}, // .901
		{10 * unit.Gbps, 10 * unit.Gbps, 5818 * unit.Nanosecond, 1, false, ""},          // .938
		{100 * unit.Gbps, 100 * unit.Gbps, 4180 * unit.Nanosecond, 1, true, ""},         // .95
	} {
		p := cc.FlowPath{Flows: x.flows, Crossed: x.crossed,
			NarrowLink: cc.Link{Port: "s->h0", Rate: x.rate, Payload: x.rate / 1054 * 1000}}
		p.BaseRTT, p.NICRate = x.trip, x.nic
		s := &cc.FlowContext{MSS: 1000, Paths: []cc.FlowPath{p}}
		c := Defaults()
		a := c.additive()
		got := a.checkSmallWindow(s)
		if len(got) != min(len(x.share), 1) || len(got) == 1 && !strings.Contains(got[0].Text, " "+x.share+" of") {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
