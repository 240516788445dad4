package e2e

import (
	"fmt"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// pathMTU returns an experiment of one flow with an MTU.
func pathMTU(mtu, more, transport, cc string) string {
	return fmt.Sprintf(`duration: 20us
topology: {star: {hosts: 2, rate: 100Gbps, delay: 1us}}
mtu: %s
switch: [forward, {telemetry: {format: int-md}}]
traffic: [{name: x, from: h0, to: h1, transport: %s%s%s, size: 9000 B, start: 0s}]
measure: [goodput]
`, mtu, transport, more, cc)
}

func loadPathMTU(text string) (*experiment.Spec, error) {
	return plan.Load(app.Registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
}

// TestPathMTU checks that mtu accepts the path MTUs of RoCE as payload of RDMA's packets, to which telemetry adds,
// and no others. 1500 bytes leave 1440 of payload, which is not one of them.
func TestPathMTU(t *testing.T) {
	const hpcc = ", cc: hpcc"
	for _, x := range []struct {
		mtu, more, cc string
		want          int64
	}{{"256 B pmtu", "", "", 256}, {"512 B pmtu", "", hpcc, 512}, {"1024 B pmtu", "", "", 1024}, {"1024 B pmtu", "", hpcc,
		1024}, {"1024 B pmtu", ", ip: 6", hpcc, 1024}, {"2048 B pmtu", "", hpcc, 2048}, {"4096 B pmtu", "", hpcc, 4096},
		{"4096 B pmtu", ", payload: 1000 B", hpcc, 1000}, {"1500 B", "", "", 1440}, {"1024 B payload", "", hpcc, 1024}} {
		t.Run(x.mtu+x.more+x.cc, func(t *testing.T) {
			s, err := loadPathMTU(pathMTU(x.mtu, x.more, "rdma", x.cc))
			if err != nil {
				t.Fatal(err)
			}
			c, err := plan.ListRuns(s)[0].Config()
			if err != nil {
				t.Fatal(err)
			}
			r := plantest.Simulate(t, c)
			const size = 9000
			if got, want := r.Flows[0].Receiver.ReceivedPackets, (size+x.want-1)/x.want; got != want {
				t.Errorf("%d packets of %d B, want %d of %d B at most", got, size, want, x.want)
			}
		})
	}
}

func TestPathMTUErrors(t *testing.T) {
	for _, x := range []struct{ mtu, more, transport, want string }{
		{"1000 B pmtu", "", "rdma", `test.yaml:3:6: "1000 B pmtu" is not a valid RDMA path MTU; allowed: 256, 512`},
		{"8192 B pmtu", "", "rdma", "allowed: 256, 512, 1024, 2048 or 4096 B pmtu"},
		{"pmtu", "", "rdma", "is not a valid MTU; allowed: 68 B … 65535 B, a payload such as 1448 B payload or an RDMA " +
			"path MTU"},
		{"1024 B pmtu", "", "tcp", "1024 B pmtu is an RDMA path MTU, which transport tcp does not support; allowed"},
		{"1024 B pmtu", ", payload: 1000 B", "tcp", ""},
	} {
		t.Run(x.mtu+x.more+" "+x.transport, func(t *testing.T) {
			_, err := loadPathMTU(pathMTU(x.mtu, x.more, x.transport, ""))
			if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
}
