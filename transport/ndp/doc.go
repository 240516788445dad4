package ndp
