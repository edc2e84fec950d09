// A target of its own, so that SwiftPM finds XCTMain.swift beside it only when Package.swift lists it.
