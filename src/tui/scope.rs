//! What of a cluster is looked at: what the UI asks for, and what it is told of it.

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// This graph deployment of the namespace; none for all of them.
    Graph(Option<String>),
}

/// What the program tells the UI without having been asked for a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A sentence for the footer.
    Say {
        /// The sentence.
        text: String,
        /// True when something that was asked for cannot be.
        grave: bool,
    },
    /// From now on pictures are of something else, of which nothing is known yet.
    Anew,
}
