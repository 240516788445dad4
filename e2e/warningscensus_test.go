package e2e

import "testing"

// TestCensusWarnings checks that telemetry upon congestion warns of census: on where the path has several switches,
// because the census does not replace n and w_ai there. It does not warn of w_ai.
func TestCensusWarnings(t *testing.T) {
	const congestion = "{rdma: {telemetry: congestion}}"
	for _, x := range []struct{ name, text, want string }{
		{"several switches", leaves("ecmp, {telemetry: {t: 9us}}", congestion, "{hpcc: {census: on}}"), "hpcc-census-idle"},
		{"all packets", leaves("ecmp, telemetry", "rdma", "{hpcc: {census: on}}"), ""},
		{"one switch", fabric("forward, {telemetry: {t: 9us}}", congestion, "{hpcc: {census: on}}"), ""},
		{"n is used", leaves("ecmp, {telemetry: {t: 9us}}", congestion, "{rx_hpcc: {n: 64}}"), ""},
		{"n is not", leaves("ecmp, telemetry", "rdma", "{rx_hpcc: {n: 64}}"), "hpcc-census-n"},
		{"n of one switch", fabric("forward, {telemetry: {t: 9us}}", congestion, "{rx_hpcc: {n: 64}}"), "hpcc-census-n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := ""
			for _, w := range experimentWarnings(t, x.text) {
				got += w.Kind.ID
			}
			if got != x.want {
				t.Errorf("%q, want %q", got, x.want)
			}
		})
	}
}
