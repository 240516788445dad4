package hpcc

import (
	"testing"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
)

// TestConfig_ReportsFieldsThatModesRead checks the fields that the laws read, by configuration: modes that use records
// cannot work with loads.
func TestConfig_ReportsFieldsThatModesRead(t *testing.T) {
	law := telemetry.Time | telemetry.TxBytes | telemetry.Rate
	for _, c := range []struct {
		name   string
		config interface{ Traits() cc.Traits }
		want   telemetry.Field
	}{
		{"hpcc", &Config{}, law | telemetry.Queue | telemetry.Load},
		{"per_ack", &Config{Mode: PerACK}, law | telemetry.Queue | telemetry.Load},
		{"per_rtt", &Config{Mode: PerRTT}, law | telemetry.Queue | telemetry.Load},
		{"rx_rate", &Config{Mode: RxRate}, law | telemetry.Queue},
		{"per_hop", &Config{Mode: PerHop}, law | telemetry.Queue},
		{"sojourn", &Config{Sojourn: true}, law | telemetry.Sojourn},
		{"sampled", &Config{SamplesQueues: true}, law | telemetry.Queue},
		{"sojourn, sampled", &Config{Sojourn: true, SamplesQueues: true}, law | telemetry.Sojourn | telemetry.Queue},
		{"sojourn of rx_rate", &Config{Sojourn: true, Mode: RxRate}, law | telemetry.Sojourn | telemetry.Queue},
		{"rx_hpcc", &RxConfig{}, law | telemetry.Queue | telemetry.Load},
		{"powertcp", &PowerConfig{}, law | telemetry.Queue},
		{"hpcc_pint", &PINTConfig{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.config.Traits().Reads; got != c.want {
				t.Errorf("reads %v, want %v", got, c.want)
			}
		})
	}
	for _, s := range []scheme.Scheme{Scheme().Scheme, RxScheme().Scheme, PINTScheme().Scheme, PowerScheme().Scheme} {
		t.Run("scheme "+s.Name, func(t *testing.T) {
			if _, ok := s.Config().(interface{ Traits() cc.Traits }); !ok {
				t.Error("its configuration does not say what it reads")
			}
		})
	}
}
