package swift

// SetWindow puts a flow at a window, which may be a part of a packet.
func (s *Swift) SetWindow(packets float64) { s.window = packets }
