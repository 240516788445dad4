package transporttest

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestDeadLinkMutant checks that the promise "dead link" notices a sender whose timeout does not double: it sends
// its latest packet again each 20 us without an answer.
func TestDeadLinkMutant(t *testing.T) {
	for _, k := range kinds() {
		if !k.Repairs || !k.Probes && !k.Backoff {
			continue
		}
		k.Wrap = ofSender(func(a *altered) {
			due, last := unit.Never, packet.Packet{}
			a.emit = func(now unit.Time, p *packet.Packet) {
				if due <= now {
					*p = last
					p.Sent, p.Resent = now, packet.ResentTimeout
				}
				last, due = *p, now+20*us
			}
			a.receive = func(now unit.Time, p *packet.Packet) bool {
				due = unit.Never
				return a.Endpoint.Receive(now, p)
			}
			a.send = func() unit.Time { return min(due, a.Endpoint.NextSend()) }
		})
		if err := deadLink(k); err == nil {
			t.Errorf("%s: the contract does not notice a timeout that does not double", k.Name)
		}
	}
}
