package packet

// ResendCause is why a sender sent the copy of a packet that it describes.
type ResendCause uint8

// Causes of copies. The simulator's packets carry them; on the wire they do not exist.
const (
	// FirstCopy is not a resent one. If it is a duplicate, another copy has overtaken it, a link has doubled it, or,
	// where real packets carry the traffic, its cause is unknown.
	FirstCopy      ResendCause = iota
	ResentTimeout              // no answer arrived within the retransmission timeout
	ResentProbe                // the answer to a probe proved a loss, or the copy was the probe (RFC 8985 §7)
	ResentReceiver             // acknowledgements, SACK or NACKs of the receiver indicated a loss
	ResentSwitch               // a switch reported the loss: a NACK, a trimmed or a returned packet
	ResendCauses               // number of causes
)

// String returns the cause as reports and measures name it.
func (c ResendCause) String() string {
	return [ResendCauses]string{"overtaken", "timeout", "probe", "receiver", "switch"}[c]
}
