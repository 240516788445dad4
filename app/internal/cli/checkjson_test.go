package cli

import (
	"bytes"
	"encoding/json"
	"testing"
	"weir/internal/command"
)

// TestCheckJSON checks that weir check --json lists the timers of each traffic in seconds, with the points that
// share them. In ncf/reaction a tail-drop switch of 250 packets limits the wait of DCQCN's packets, and the queues
// of ncf do not.
func TestCheckJSON(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"check", "ncf/reaction", "--json"}, &out, &errs, false); code != command.Done {
		t.Fatal(errs.String())
	}
	var got struct {
		Name   string
		Runs   int
		Timers []struct {
			Traffic, Transport, Text string
			Points                   []string
			Probe                    float64 `json:"probe_after_s"`
			Resend                   float64 `json:"resend_after_s"`
			Base                     float64 `json:"base_rtt_s"`
			Max                      float64 `json:"max_rtt_s"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "ncf/reaction" || got.Runs != 3*13*20 {
		t.Errorf("%s, %d runs", got.Name, got.Runs)
	}
	transports := map[string]int{}
	for _, x := range got.Timers {
		transports[x.Transport]++
		limited := x.Max > 0
		if x.Traffic != "elephant" || x.Text == "" || x.Base < 0.01 || x.Base > 0.21 || limited && x.Max < x.Base ||
			limited && x.Resend < x.Max || x.Transport == "ndp" && x.Probe > 0 || len(x.Points) == 0 {
			t.Errorf("%+v", x)
		}
	}
	if transports["rdma"] != 9 || transports["ndp"] != 3 || len(transports) != 2 {
		t.Errorf("%v", transports)
	}
}
