//go:build lab

package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/realtime"
)

// twoWay has traffic in both directions of a server's own link, which is the narrowest of all paths. ACKs of the
// upload wait behind the server's data. The format's arguments are the rate, more keys, the version of IP, the
// flows of a direction and more traffic.
const twoWay = `title: both directions of a server's own link
duration: 6s
warmup: 2s
topology:
  hosts: [a, b, server]
  switches: [s1]
  links:
    - {ends: [a, s1], rate: 100Mbps, delay: 2ms}
    - {ends: [b, s1], rate: 100Mbps, delay: 2ms}
    - {ends: [s1, server], rate: %s, delay: 2ms, buffer: 100 packets}
%sswitch: [forward]
traffic:
  - {name: down, from: server, to: b, transport: tcp, cc: cubic, flows: %[4]d, ip: %[3]d}
  - {name: up, from: a, to: server, transport: tcp, cc: cubic, flows: %[4]d, ip: %[3]d}
%[5]smeasure: [{goodput: {by: traffic}}, {rtt: {}}]
`

// TestOwnLinkOnLab checks that a host's own link limits its senders, as a NIC of the simulator does, so that no
// queue of the host delays the ACKs of the other direction. Without this limit, the upload had a quarter of its
// goodput (review of the lab, F2). The rate may change during the run. Datagrams faster than the link wait for it
// as well: TCP of the same host has its half.
func TestOwnLinkOnLab(t *testing.T) {
	needRoot(t)
	const (
		changes   = "events:\n  - {at: 1s, link: [s1, server], rate: 20Mbps}\n"
		datagrams = "  - {name: d, from: server, to: b, transport: udp, rate: 20Mbps}\n"
	)
	for _, x := range []struct {
		name, rate, more string
		version, flows   int
		traffic          string
	}{
		{"slow", "5Mbps", "", 4, 4, ""}, {"home", "20Mbps", "", 6, 2, ""}, {"fast", "50Mbps", "", 4, 2, ""},
		{"slower", "50Mbps", changes, 4, 2, ""}, {"faster", "5Mbps", changes, 4, 2, ""},
		{"wire", "20Mbps", "framing: wire\n", 4, 2, ""}, {"datagrams", "10Mbps", "", 4, 1, datagrams},
	} {
		t.Run(x.name, func(t *testing.T) {
			realtime.Test(t, func(try *realtime.Try) {
				file := filepath.Join(try.TempDir(), "twoway.yaml")
				if err := os.WriteFile(file, fmt.Appendf(nil, twoWay, x.rate, x.more, x.version, x.flows, x.traffic),
					0o600); err != nil {
					try.Fatal(err)
				}
				doc := runOnLab(try, try.TempDir(), file)
				compared := 0
				for _, a := range doc.Agreement {
					if strings.HasPrefix(a.Measure, "goodput") {
						compared++
						if math.Abs(a.Lab/a.Sim-1) > 0.1 {
							try.Errorf("%s %s: %g in the simulator, %g in the lab", a.Measure, a.Group, a.Sim, a.Lab)
						}
					}
				}
				if compared != 2+strings.Count(x.traffic, "name:") {
					try.Errorf("%d goodputs were compared: %+v", compared, doc.Agreement)
				}
			})
		})
	}
}
