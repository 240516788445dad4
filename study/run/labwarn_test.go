package run

import (
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
)

// TestLabWarnings checks the warning about timeouts of some microseconds, which expire in the lab while threads
// wait. Transports that retransmit no packet or wait longer, and the kernel's TCP, cause no warning.
func TestLabWarnings(t *testing.T) {
	for transport, want := range map[string]string{
		"rdma, cc: dctcp":                                 "", // it probes
		"{rdma: {rto_min: 320us}}, cc: dctcp":             "traffic x: timeouts of rdma may occur after rto_min: 320us",
		"{rdma: {rto_min: 20ms}}, cc: dctcp":              "",
		"{rdma: {rto_min: 20ms, rto_low: 1ms}}, cc: reno": "timeouts of rdma may occur after rto_min: 1ms",
		"{rdma: {recovery: none}}, cc: dctcp":             "",
		"tcp, cc: cubic":                                  "",
		"{tcp: {stack: weir}}, cc: cubic":                 "",
		"udp, rate: 1Mbps":                                "",
	} {
		s := plantest.Load(t, room(),
			twoHosts+"switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: "+transport+
				"}\nmeasure: [goodput]\n", experiment.Options{})
		all := testkit.FormatAll(LabWarnings(s))
		if n := len(all); want == "" && n > 0 || want != "" && (n != 1 || !strings.Contains(all[0], want) ||
			!strings.Contains(all[0], ":10:5: ")) {
			t.Errorf("%s: %q", transport, all)
		}
	}
	s := plantest.Load(t, room(),
		twoHosts+"switch: [forward]\nstalls: {every: 1s, length: 1ms}\ntraffic:\n  - {name: x, from: a, to: b, "+
			"transport: tcp}\nmeasure: [goodput]\n", experiment.Options{})
	if all := testkit.FormatAll(LabWarnings(s)); len(all) != 1 || !strings.Contains(all[0], "stalls apply to "+
		"the simulator only") {
		t.Errorf("%q", all)
	}
}
