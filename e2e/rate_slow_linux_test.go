//go:build slow

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/testkit/realtime"
)

// rateOfHosts has two hosts whose links carry more than 500 Mb/s.
const rateOfHosts = `duration: 4s
warmup: 1s
topology: {star: {hosts: 2, rate: 600Mbps, delay: 500us, buffer: 500 packets}}
switch: [forward]
traffic: [{name: x, from: h0, to: h1, transport: %s, cc: cubic, start: 0s}]
measure: [goodput, {throughput: {port: s->h1}}, drops]
`

// TestRateOfOwnHostsOnLab checks that two of Weir's own hosts carry 500 Mb/s and 40,000 packets a second through a
// switch with an MTU of 1500, on two cores (issue "Real packets"). Timeouts are longer than the waits of threads.
func TestRateOfOwnHostsOnLab(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	for name, transport := range map[string]string{
		"tcp": "{tcp: {stack: weir}}", "rdma": "{rdma: {rto_min: 50ms}}", "udp": "{udp_controlled: {rto_min: 50ms}}",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, rateOfHosts, transport), 0o666); err != nil {
				t.Fatal(err)
			}
			realtime.Test(t, func(try *realtime.Try) {
				doc := runOnLab(try, try.TempDir(), file)
				last, goodput := &doc.Runs[0].Attempts[0], doc.Runs[0].values(try, "goodput_bps")["x"]
				const payload = 1448 // of a segment, and less than other transports have
				try.Logf("%.0f Mb/s, %.0f packets/s at least, data plane %.2f and hosts %.2f of a core, late %.2f ms at 99 %%, "+
					"%.1f %% stolen", goodput/1e6, goodput/8/payload, last.CPU, last.Hosts.CPU, 1e3*last.LateP99S, 100*last.Steal)
				if goodput < 500e6 || goodput/8/payload < 40e3 {
					try.Errorf("%.0f Mb/s, want 500", goodput/1e6)
				}
			})
		})
	}
}
