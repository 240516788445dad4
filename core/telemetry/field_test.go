package telemetry

import "testing"

// TestFormat_ReportsMissingFields checks which fields that laws need are missing in a format. IFA has no count of
// bytes, and relative has only loads.
func TestFormat_ReportsMissingFields(t *testing.T) {
	law := Time | TxBytes | Queue | Rate
	for _, c := range []struct {
		format       string
		needs, lacks Field
	}{
		{"hpcc", law | Load, 0},
		{"hpcc", Time | TxBytes | Rate | Sojourn, Sojourn},
		{"int-md", law | Identity, 0},
		{"int-md", law | Sojourn, Sojourn},
		{"ioam-gafni", law | Identity, 0},
		{"ifa-ext", law | Sojourn | Identity, 0},
		{"ioam", law, 0},
		{"ifa", law | Load, TxBytes},
		{"relative", law | Load, 0},
		{"relative", law, law},
		{"relative", 0, 0},
	} {
		t.Run(c.format+" "+c.needs.String(), func(t *testing.T) {
			if got := newFormat(t, c.format).MissingFields(c.needs); got != c.lacks {
				t.Errorf("lacks %v, want %v", got, c.lacks)
			}
		})
	}
	f := newFormat(t, "int-md")
	if err := f.SetShape(0, true); err != nil || f.MissingFields(law|Sojourn) != 0 {
		t.Errorf("with sojourn: %v, lacks %v", err, f.MissingFields(law|Sojourn))
	}
	if got := (Queue | Rate).String(); got != "queue lengths, link rates" {
		t.Error(got)
	}
}
