//! The way of a request through the cluster, and of the KV events it causes.

use std::time::Duration;

use super::config::RouterMode;
use super::hash::engine_blocks;
use super::publisher::EngineEvent;
use super::service::Answered;
use super::worker::Request;
use super::workload::{Chat, Turn};
use super::{Event, Simulation, logs};
use crate::domain::{HitRate, SequenceHash, Timestamp, WorkerRank};
use crate::wire::encode::Change;

/// The delay until a request that found no worker is tried again.
const RETRY: Duration = Duration::from_millis(200);

impl Simulation {
    /// A user asks.
    pub(super) fn ask(&mut self, now: Timestamp, chat: Option<Chat>) {
        let service = self.config.service;
        let chat = chat.unwrap_or_else(|| self.clients.conversation());
        let turn = self.clients.ask(chat, &service);
        let arrived = now.after(service.network / 2);
        self.frontend.counts.inflight += 1;
        let at = arrived.after(service.frontend(self.router.mode, self.frontend.counts.inflight));
        self.queue.plan(at, Event::Dispatch(Box::new(turn), arrived));
    }

    /// As many conversations begin as are missing.
    pub(super) fn open_conversations(&mut self, now: Timestamp) {
        let service = self.config.service;
        while let Some(at) = self.clients.start(now, &service) {
            self.queue.plan(at, Event::Ask(None));
        }
    }

    /// The router chooses a worker.
    pub(super) fn dispatch(&mut self, now: Timestamp, turn: Turn, arrived: Timestamp) {
        let prompt = turn.chat.tokens.get(..turn.prompt).unwrap_or_default();
        let Some(choice) = self.router.choose(prompt) else {
            self.queue.plan(now.after(RETRY), Event::Dispatch(Box::new(turn), arrived));
            return;
        };
        let rank = choice.chosen.rank;
        let Some(place) = self.place_of(rank) else { return };
        let name = self.request_name();
        // A frontend that sends requests in turn has no router that would log or publish.
        if self.router.mode == RouterMode::Kv && !self.measured {
            for line in logs::decision(self.config.site, self.config.family, now, &choice, &name) {
                self.tap.log(now, &self.frontend.pod, line);
            }
            let (isl_blocks, overlap_blocks) = (choice.isl_blocks, choice.chosen.overlap);
            let rate = HitRate { rank, isl_blocks, overlap_blocks };
            self.tap.hit_rate(now, self.frontend.id, &rate);
            self.report_router(now, rank);
        }
        let blocks = engine_blocks(&turn.chat.tokens, self.workers[place.0].config.engine);
        let request = Request {
            tokens: 0,
            prompt: turn.prompt,
            chat: turn.chat,
            arrived,
            place,
            ticket: choice.ticket,
            blocks,
            held: Vec::new(),
            cached: 0,
            first_token: None,
            earliest: self.workers[place.0].ranks[place.1]
                .iterations
                .earliest(&self.config.service),
            ends: false,
            name,
        };
        self.next_request += 1;
        self.requests.insert(self.next_request, request);
        self.workers[place.0].ranks[place.1].waiting.push_back(self.next_request);
        self.admit(now, place);
    }

    /// A rank accepts what it has room for.
    pub(super) fn admit(&mut self, now: Timestamp, place: (usize, usize)) {
        self.accept(now, place);
        self.iterate(now, place);
    }

    fn accept(&mut self, now: Timestamp, place: (usize, usize)) {
        let limit = self.config.service.batch_limit;
        loop {
            let worker = &mut self.workers[place.0];
            let engine = worker.config.engine as usize;
            let rank = &mut worker.ranks[place.1];
            let Some(id) = rank.waiting.front().copied() else { return };
            let Some(request) = self.requests.get_mut(&id) else {
                rank.waiting.pop_front();
                continue;
            };
            let full = request.blocks.get(..request.prompt / engine).unwrap_or_default();
            let cached = full.iter().take_while(|block| rank.pool.holds(block.sequence)).count();
            let idle = full[..cached].iter().filter(|block| rank.pool.idle(block.sequence)).count();
            let room = rank.pool.available();
            let fits = full.len() - cached + idle <= room;
            if rank.running > 0 && (!fits || rank.running >= limit) {
                return;
            }
            if !rank.iterations.accepts(request.earliest) {
                return;
            }
            rank.waiting.pop_front();
            rank.running += 1;
            for block in &full[..cached] {
                rank.pool.pin(block.sequence);
            }
            let new = (full.len() - cached).min(rank.pool.available());
            let gone = rank.pool.make_room(new);
            let mut parent = cached.checked_sub(1).map(|last| full[last].sequence);
            for block in &full[cached..cached + new] {
                rank.pool.insert(block.sequence, parent);
                parent = Some(block.sequence);
            }
            request.cached = cached;
            request.held = full[..cached + new].iter().map(|block| block.sequence).collect();
            rank.reused.0 += cached as u64;
            rank.reused.1 += full.len() as u64;
            let left = (request.prompt - cached * engine).max(1);
            rank.iterations.prompt(id, request.prompt, left);
            self.removed(now, place, gone);
            self.report_worker(now, place);
        }
    }

    /// The prompt of a request is computed; its new blocks can be reused from now on.
    pub(super) fn prefilled(&mut self, now: Timestamp, id: u64) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        request.first_token = Some(now);
        request.tokens = request.prompt;
        let place = request.place;
        let new = request.blocks.get(request.cached..request.held.len()).unwrap_or_default();
        let parent = request.cached.checked_sub(1).map(|last| request.held[last]);
        let stored = EngineEvent::Stored { parent, blocks: new.to_vec() };
        let stored = (!new.is_empty()).then_some(stored);
        self.frontend.counts.first_token(now.since(request.arrived));
        self.router.prefilled(&mut request.ticket);
        let rank = request.ticket.rank;
        if let Some(stored) = stored {
            self.publish(now, place, stored);
        }
        self.report_router(now, rank);
        self.go_on(now, id);
    }

    /// A request has filled another block with its answer.
    pub(super) fn filled(&mut self, now: Timestamp, id: u64) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        let place = request.place;
        let worker = &mut self.workers[place.0];
        let engine = worker.config.engine as usize;
        let pool = &mut worker.ranks[place.1].pool;
        request.tokens = (request.tokens / engine + 1) * engine;
        let Some(block) = request.blocks.get(request.held.len()).copied() else { return };
        let parent = request.held.last().copied();
        if pool.holds(block.sequence) {
            pool.pin(block.sequence);
            request.held.push(block.sequence);
        } else if pool.available() > 0 {
            let gone = pool.make_room(1);
            pool.insert(block.sequence, parent);
            request.held.push(block.sequence);
            self.removed(now, place, gone);
            self.publish(now, place, EngineEvent::Stored { parent, blocks: vec![block] });
        }
        self.go_on(now, id);
    }

    /// Plans the next that happens to a request that is being answered.
    fn go_on(&mut self, now: Timestamp, id: u64) {
        let Some(request) = self.requests.get(&id) else { return };
        let worker = &self.workers[request.place.0];
        let engine = worker.config.engine as usize;
        let total = request.chat.tokens.len();
        let boundary = (request.tokens / engine + 1) * engine;
        // Without room for the block before, the next cannot be held either.
        let caches = request.held.len() == request.tokens / engine;
        let ends = !(caches && boundary <= total);
        let steps = if ends { total } else { boundary }.saturating_sub(request.tokens);
        let place = request.place;
        if steps == 0 {
            self.finished(now, id);
            return;
        }
        self.workers[place.0].ranks[place.1].iterations.plan(id, steps);
        self.requests.entry(id).and_modify(|request| request.ends = ends);
    }

    /// A request is answered.
    pub(super) fn finished(&mut self, now: Timestamp, id: u64) {
        let Some(request) = self.requests.remove(&id) else { return };
        let (rank, overlap) = (request.ticket.rank, request.ticket.overlap);
        let seconds = now.since(request.arrived).as_secs_f64();
        let worker = &mut self.workers[request.place.0];
        worker.requests += 1;
        worker.seconds += seconds;
        let engine = worker.config.engine as usize;
        let place = &mut worker.ranks[request.place.1];
        place.running -= 1;
        place.iterations.end(request.chat.tokens.len());
        place.pool.unpin(&request.held);
        self.router.free(request.ticket.clone());
        let answer = (request.chat.tokens.len() - request.prompt) as u64;
        let counts = &mut self.frontend.counts;
        counts.inflight -= 1;
        counts.requests += 1;
        counts.seconds += seconds;
        counts.input_tokens += request.prompt as u64;
        counts.cached_tokens += (request.cached * engine) as u64;
        counts.output_tokens += answer;
        if let Some(first) = request.first_token {
            counts.tokens(answer.saturating_sub(1), now.since(first));
        }
        let (site, family) = (self.config.site, self.config.family);
        let line = (!self.measured)
            .then(|| logs::completed(site, family, now, rank, overlap, &request.name));
        if let Some(line) = line.flatten() {
            self.tap.log(now, &self.frontend.pod, line);
        }
        self.answered(now, &request);
        self.report_router(now, rank);
        self.report_worker(now, request.place);
        self.admit(now, request.place);
    }

    /// A user has the whole answer.
    fn answered(&mut self, now: Timestamp, request: &Request) {
        let service = self.config.service;
        let received = now.after(service.network / 2);
        if self.measured {
            let first = request.first_token.unwrap_or(now);
            let engine = self.workers[request.place.0].config.engine as usize;
            self.answers.push(Answered {
                done: received,
                first_token: first.since(request.arrived) + service.network,
                latency: now.since(request.arrived) + service.network,
                tokens: request.chat.tokens.len() - request.prompt,
                prompt: request.prompt,
                cached: request.cached * engine,
            });
        }
        match self.clients.answered(received, &request.chat, &service) {
            Some(at) => self.queue.plan(at, Event::Ask(Some(Box::new(request.chat.clone())))),
            None => self.open_conversations(received),
        }
    }

    /// A KV event reaches the router.
    pub(super) fn apply(&mut self, now: Timestamp, rank: WorkerRank, id: u64, event: &EngineEvent) {
        if !self.router.knows(rank) {
            return;
        }
        let counts = &mut self.frontend.counts;
        let refusals = match event {
            EngineEvent::Stored { parent, blocks } => {
                let refused = self.router.index.store(rank, *parent, blocks);
                counts.stores += u64::from(refused.is_none());
                counts.orphans += u64::from(refused.is_some());
                refused.into_iter().collect()
            }
            EngineEvent::Removed(hashes) => {
                counts.removals += 1;
                self.router.index.remove(rank, hashes)
            }
        };
        // Without a router, the index stands for what the next one will read from the stream.
        if self.router.mode != RouterMode::Kv || self.measured {
            return;
        }
        for refusal in refusals {
            for line in logs::refusal(self.config.family, now, rank, id, &refusal) {
                self.tap.log(now, &self.frontend.pod, line);
            }
        }
    }

    /// A router says what it believes to run on `rank`.
    fn report_router(&mut self, now: Timestamp, rank: WorkerRank) {
        if let Some(load) = self.router.load(rank)
            && self.router.mode == RouterMode::Kv
            && !self.measured
        {
            self.tap.router_load(now, self.frontend.id, rank, load);
        }
    }

    /// A worker says how many blocks it uses, when that has changed.
    pub(super) fn report_worker(&mut self, now: Timestamp, place: (usize, usize)) {
        let worker = &mut self.workers[place.0];
        let rank = &mut worker.ranks[place.1];
        let used = rank.pool.used() as u64;
        if worker.config.publishes && rank.reported != Some(used) {
            rank.reported = Some(used);
            self.tap.worker_load(now, rank.id, used);
        }
    }

    fn removed(&mut self, now: Timestamp, place: (usize, usize), gone: Vec<SequenceHash>) {
        if !gone.is_empty() {
            self.publish(now, place, EngineEvent::Removed(gone));
        }
    }

    /// A worker's engine has something to say, which the publisher passes on as it can.
    fn publish(&mut self, now: Timestamp, place: (usize, usize), event: EngineEvent) {
        let worker = &mut self.workers[place.0];
        if !worker.config.publishes {
            return;
        }
        let rank = &mut worker.ranks[place.1];
        if self.config.loss > 0.0 && self.chance.chance(self.config.loss) {
            rank.publisher.lose();
            self.tap.lose(rank.id);
            return;
        }
        let published = rank.publisher.publish(event);
        if let Some(text) = published.complaint {
            self.tap.log(now, &worker.pod, logs::complaint(now, &text));
        }
        let Some((id, event)) = published.event else { return };
        if !self.measured {
            let change = match &event {
                EngineEvent::Stored { parent, blocks } => {
                    Change::Stored { parent: *parent, blocks }
                }
                EngineEvent::Removed(hashes) => Change::Removed(hashes),
            };
            self.tap.kv(now, rank.id, id, change);
        }
        self.queue.plan(now.after(self.config.service.transport), Event::Apply(rank.id, id, event));
    }

    fn place_of(&self, rank: WorkerRank) -> Option<(usize, usize)> {
        self.workers.iter().enumerate().find_map(|(place, worker)| {
            let within = worker.ranks.iter().position(|own| worker.up && own.id == rank)?;
            Some((place, within))
        })
    }

    /// Returns a fresh request id, a random UUID.
    fn request_name(&mut self) -> String {
        let (high, low) = (self.chance.next(), self.chance.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 50),
            low & 0xffff_ffff_ffff
        )
    }
}
