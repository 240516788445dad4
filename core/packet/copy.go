package packet

// ResendCause is the reason why a sender sent a copy of a packet.
type ResendCause uint8

// Causes of copies. They exist in the simulator's packets only, not on the wire.
const (
	// FirstCopy is not a resent packet. If it is a duplicate, another copy has overtaken it, or a link has duplicated it.
	// Where real packets carry the traffic, its cause may also be unknown.
	FirstCopy      ResendCause = iota
	ResentTimeout              // no answer arrived within the retransmission timeout
	ResentProbe                // the answer to a probe proved a loss, or the copy was the probe (RFC 8985 §7)
	ResentReceiver             // acknowledgements, SACK or NACKs of the receiver indicated a loss
	ResentSwitch               // a switch reported the loss: a NACK, a trimmed or a returned packet
	ResendCauses               // number of causes
)

// String returns the name of the cause in reports and measures.
func (c ResendCause) String() string {
	return [ResendCauses]string{"overtaken", "timeout", "probe", "receiver", "switch"}[c]
}
