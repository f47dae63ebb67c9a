//! Branches: the children of nodes that have more than one.
//!
//! Owns the lists. Which list belongs to which node is written in the node.

/// Children up to which a list is searched; longer ones are filed in an index.
pub(super) const SHORT: usize = 12;

/// One child.
#[derive(Clone, Copy)]
pub(super) struct Kid {
    /// The low half of its tokens hash.
    pub(super) tag: u32,
    pub(super) node: u32,
}

/// The children of one node.
#[derive(Default)]
pub(super) struct Branch {
    pub(super) kids: Vec<Kid>,
    /// True once its children are in the index.
    pub(super) filed: bool,
}

/// All lists of a tree.
#[derive(Default)]
pub(super) struct Branches {
    lists: Vec<Branch>,
    free: Vec<u32>,
    bytes: usize,
}

impl Branches {
    #[inline]
    pub(super) fn at(&self, id: u32) -> &Branch {
        &self.lists[id as usize]
    }

    pub(super) fn at_mut(&mut self, id: u32) -> &mut Branch {
        &mut self.lists[id as usize]
    }

    /// Adds an empty list, returns its id.
    pub(super) fn add(&mut self) -> u32 {
        if let Some(id) = self.free.pop() {
            return id;
        }
        self.lists.push(Branch::default());
        (self.lists.len() - 1) as u32
    }

    /// Adds a child to list `id`, returns its place.
    pub(super) fn push(&mut self, id: u32, kid: Kid) -> usize {
        let kids = &mut self.lists[id as usize].kids;
        let before = kids.capacity();
        if before < 4 && kids.len() == before {
            kids.reserve_exact(2);
        }
        kids.push(kid);
        self.bytes += (kids.capacity() - before) * size_of::<Kid>();
        kids.len() - 1
    }

    /// Takes list `id` away.
    pub(super) fn release(&mut self, id: u32) {
        let list = std::mem::take(&mut self.lists[id as usize]);
        self.bytes -= list.kids.capacity() * size_of::<Kid>();
        self.free.push(id);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.lists.capacity() * size_of::<Branch>() + self.free.capacity() * 4
    }
}
